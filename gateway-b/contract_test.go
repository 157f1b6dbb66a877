package gatewayb

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/gateway-b/openapi"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/resource"
	"reservation.dev/platform/scopes"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func TestRoutesAreTheContract(t *testing.T) { // invariant 5
	t.Parallel()
	contract := openapitest.Load(t, openapi.Description, base)
	contract.CheckExamples(t)
	contract.CheckKeys(t)
	var have []string
	for _, r := range routes() {
		have = append(have, r.Method+" "+described(r.Path))
	}
	want := contract.Operations()
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("routes.go has %v\nopenapi.yaml has %v", have, want)
	}
}

// described returns the path of a route as openapi.yaml has it.
func described(path string) string {
	names := strings.NewReplacer("{registration_id}", "{registrationId}", "{upload_id}", "{uploadId}", "{media_id}", "{mediaId}")
	return names.Replace(strings.TrimPrefix(path, base))
}

// TestPermissionsAreTheContract compares the permission of each operation with openapi.yaml, where the
// scopes of the security requirement name it.
func TestPermissionsAreTheContract(t *testing.T) { // invariant 5
	t.Parallel()
	var contract struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(openapi.Description, &contract); err != nil {
		t.Fatal(err)
	}
	for _, r := range routes() {
		path := described(r.Path)
		node := contract.Paths[path][strings.ToLower(r.Method)]
		var operation struct {
			Security    []map[string][]string
			Description string
		}
		if err := node.Decode(&operation); err != nil {
			t.Fatal(err)
		}
		want, sentence := []map[string][]string{}, ""
		if r.Scope != "" {
			want, sentence = append(want, map[string][]string{"bearer": {r.Scope}}), "Requires the permission `"+r.Scope+"`."
		}
		if fmt.Sprint(operation.Security) != fmt.Sprint(want) || !strings.Contains(operation.Description, sentence) {
			t.Errorf("%s %s: openapi.yaml requires %v in %q, routes.go %v", r.Method, path, operation.Security, operation.Description, want)
		}
	}
}

// TestWritesHonourIfMatch checks that openapi.yaml has If-Match for each write that changes a resource
// whose GET has an ETag. An operation on a path below the resource's creates something else if its
// status is 201.
func TestWritesHonourIfMatch(t *testing.T) { // invariant 5
	t.Parallel()
	type reference struct {
		Ref string `yaml:"$ref"`
	}
	type operation struct {
		Parameters []reference
		Responses  map[string]any
	}
	var contract struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(openapi.Description, &contract); err != nil {
		t.Fatal(err)
	}
	at := func(method, path string) (o operation) {
		if node, ok := contract.Paths[path][strings.ToLower(method)]; ok {
			if err := node.Decode(&o); err != nil {
				t.Fatal(err)
			}
		}
		return o
	}
	refers := func(o operation, name string) bool {
		return slices.ContainsFunc(o.Parameters, func(p reference) bool { return strings.HasSuffix(p.Ref, "/"+name) })
	}
	checked := 0
	for path, item := range contract.Paths {
		for method := range item {
			if method == "parameters" {
				continue
			}
			o := at(method, path)
			_, creates := o.Responses["201"]
			single := path
			if method == "post" {
				single = path[:strings.LastIndex(path, "/")]
			}
			if method == "get" || creates || changesNothing(path) || !strings.HasSuffix(single, "}") || !refers(at("get", single), "IfNoneMatch") {
				continue
			}
			checked++
			if _, stale := o.Responses["412"]; !stale || !refers(o, "IfMatch") {
				t.Errorf("%s %s has no If-Match", method, path)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d operations were checked", checked)
	}
}

// changesNothing reports whether an operation below a resource leaves the resource unchanged, except
// for its deliveries, or the resource never changes and has no version.
func changesNothing(path string) bool {
	return slices.Contains([]string{
		"/webhook-endpoints/{id}/test", "/webhook-deliveries/{id}/replay", "/media-entitlements/{id}", "/calendars/{id}",
		"/time-off/{id}", "/holidays/{id}",
	}, path)
}

// TestEnumsAreTheContract compares the names of the enum values with openapi.yaml.
func TestEnumsAreTheContract(t *testing.T) { // invariant 5
	t.Parallel()
	for name, values := range map[string][]string{
		"EventType": enum.Names[bookingv1.EventType](), "EventStatus": enum.Names[bookingv1.EventStatus](),
		"CustomerPassStatus": enum.Names[passv1.CustomerPassStatus](), "attendance": resource.AttendanceNames(),
		"SubscriptionStatus": enum.Names[subscriptionv1.SubscriptionStatus](), "ChangeTime": enum.Names[subscriptionv1.ChangeTime](),
		"PlanBookings": enum.Names[subscriptionv1.PlanBookings](), "interval": enum.Names[subscriptionv1.IntervalUnit](),
		"paymentStatus": enum.Names[subscriptionv1.PaymentStatus](), "MediaKind": enum.Names[mediav1.MediaKind](),
		"CalendarKind": enum.Names[bookingv1.CalendarKind](), "action": enum.Names[bookingv1.BookingAction](),
		"validityUnit": enum.Names[passv1.ValidityUnit](), "status": enum.Names[passv1.PassTypeStatus](),
	} {
		list := "enum: [" + strings.Join(values, ", ") + "]"
		schema := regexp.MustCompile(`\b` + name + `:\s+(\{ )?type: string,?\s+` + regexp.QuoteMeta(list))
		if !schema.Match(openapi.Description) {
			t.Errorf("openapi.yaml: %s does not have %s", name, list)
		}
	}
}

func TestEveryPermissionHasARoute(t *testing.T) { // invariant 1
	t.Parallel()
	used := map[string]bool{}
	for _, r := range routes() {
		used[r.Scope] = true
	}
	delete(used, "")
	if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, scopes.InterfaceB()) {
		t.Errorf("routes.go needs %v, a key can have %v", got, scopes.InterfaceB())
	}
}
