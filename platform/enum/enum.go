// Package enum converts the values of proto enums to the short names in interfaces, files and stored
// rows. For example, EVENT_DATE_STATUS_SCHEDULED of EventDateStatus is "scheduled". The value 0,
// which every enum calls unspecified, has the name "".
package enum

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Names returns the names of the values of E from 1 up. Callers must not modify the slice.
func Names[E Enum]() []string { return NamesOf(E(0).Descriptor()) }

// Name returns the name of a value, or "" if the enum does not have the value.
func Name[E Enum](v E) string {
	names := NamesOf(v.Descriptor())
	if v < 1 || int(v) > len(names) {
		return ""
	}
	return names[v-1]
}

// Parse returns the value with the given name. ok is false if there is none.
func Parse[E Enum](name string) (v E, ok bool) {
	for i, known := range Names[E]() {
		if known == name {
			return E(i + 1), true
		}
	}
	return 0, false
}

// Enum is a generated enum whose values are numbered from 0 without gaps.
type Enum interface {
	~int32
	protoreflect.Enum
}

// cache has the names by enum descriptor. It does not grow beyond the enums of the protos.
var cache sync.Map

// NamesOf returns what Names returns, for an enum that is known only by its descriptor.
func NamesOf(d protoreflect.EnumDescriptor) []string {
	if names, ok := cache.Load(d); ok {
		return names.([]string)
	}
	prefix := strings.TrimSuffix(string(d.Values().Get(0).Name()), "UNSPECIFIED")
	var names []string
	for i := 1; i < d.Values().Len(); i++ {
		names = append(names, strings.ToLower(strings.TrimPrefix(string(d.Values().Get(i).Name()), prefix)))
	}
	cache.Store(d, names)
	return names
}
