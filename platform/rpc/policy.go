package rpc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"reservation.dev/platform/scopes"
	accessv1 "reservation.dev/proto/gen/reservation/access/v1"
)

// The requirements of a method that are not scopes. No scope has this form.
const (
	// Public is a method that needs no token.
	Public = "(public)"
	// AnyToken is a method that needs a token, but no particular scope.
	AnyToken = "(any token)"
	// PlatformOnly is a method that applies to the whole platform. It needs the scope platform:admin
	// and a call that names no company. Scopes that are joined to it are alternatives to platform:admin.
	PlatformOnly = "(platform only)"
)

// Policy maps each full method ("/package.Service/Method") to the scope that it needs, or to Public,
// AnyToken or PlatformOnly. Scopes joined by "|" are alternatives. A method without an entry is
// denied.
type Policy map[string]string

// PolicyOf returns the policy that the protos of the given services declare (see
// reservation/access/v1). A method without a declaration, or of a service whose proto is not compiled
// into the program, has no entry, and is denied.
func PolicyOf(services ...*grpc.ServiceDesc) Policy {
	policy := Policy{}
	for _, s := range services {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(s.ServiceName))
		described, ok := found.(protoreflect.ServiceDescriptor)
		if err != nil || !ok {
			continue
		}
		for i := range described.Methods().Len() {
			method := described.Methods().Get(i)
			if requirement := requirement(method); requirement != "" {
				policy["/"+s.ServiceName+"/"+string(method.Name())] = requirement
			}
		}
	}
	return policy
}

// requirement returns what the proto of a method requires of callers, or "" if it does not say.
func requirement(method protoreflect.MethodDescriptor) string {
	access, _ := proto.GetExtension(method.Options(), accessv1.E_Access).(*accessv1.Access)
	switch {
	case access.GetPlatformOnly():
		return strings.Join(append([]string{PlatformOnly}, access.GetScopes()...), "|")
	case len(access.GetScopes()) > 0:
		return strings.Join(access.GetScopes(), "|")
	case access.GetPublic():
		return Public
	case access.GetAnyToken():
		return AnyToken
	default:
		return ""
	}
}

// isPlatformOnly reports whether a requirement is PlatformOnly, with or without scopes.
func isPlatformOnly(requirement string) bool {
	return strings.HasPrefix(requirement, PlatformOnly)
}

// kindOf returns the kind of resource of a method that needs one of the scopes: the part of the scope
// before the colon, or "" if the method needs no scope. If there are several scopes, it is that of the
// last one that Interface B has, because a collection of Interface B is a kind of resource, and other
// scopes include more than one.
func kindOf(requirement string) string {
	alternatives := strings.Split(requirement, "|")
	kind := alternatives[0]
	for _, scope := range alternatives {
		if slices.Contains(scopes.InterfaceB(), scope) {
			kind = scope
		}
	}
	kind, _, isScope := strings.Cut(kind, ":")
	if !isScope {
		return ""
	}
	return kind
}

// Check returns an error that lists the methods of the given services without an entry, and the
// entries of these services that are not methods.
func (p Policy) Check(descs ...*grpc.ServiceDesc) error {
	var faults []error
	for _, d := range descs {
		known := map[string]bool{}
		for _, m := range d.Methods {
			known["/"+d.ServiceName+"/"+m.MethodName] = true
		}
		for _, s := range d.Streams {
			known["/"+d.ServiceName+"/"+s.StreamName] = true
		}
		for method := range known {
			if p[method] == "" {
				faults = append(faults, fmt.Errorf("%s has no policy", method))
			}
		}
		for method := range p {
			if strings.HasPrefix(method, "/"+d.ServiceName+"/") && !known[method] {
				faults = append(faults, fmt.Errorf("%s has a policy but is not a method", method))
			}
		}
	}
	return errors.Join(faults...)
}

// CheckServer returns an error that lists the methods on srv without an entry. They would be denied to
// every caller.
func (p Policy) CheckServer(srv reflection.ServiceInfoProvider) error {
	var missing []string
	all := p.complete()
	for service, info := range srv.GetServiceInfo() {
		for _, m := range info.Methods {
			if method := "/" + service + "/" + m.Name; all[method] == "" {
				missing = append(missing, method)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("methods without a policy: %s", strings.Join(missing, ", "))
}

// complete returns p with the entries of health and reflection, which every server has.
func (p Policy) complete() Policy {
	all := Policy{
		grpc_health_v1.Health_Check_FullMethodName: Public,
		grpc_health_v1.Health_List_FullMethodName:  Public,
		grpc_health_v1.Health_Watch_FullMethodName: Public,
		// Only a caller with a token can list the methods of a server.
		reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName:      AnyToken,
		reflectionv1alpha.ServerReflection_ServerReflectionInfo_FullMethodName: AnyToken,
	}
	maps.Copy(all, p)
	return all
}
