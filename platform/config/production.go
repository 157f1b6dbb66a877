package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// insecureMark is in every published secret that is text: the secrets in
// deploy/compose/secrets, with which the platform is tried.
const insecureMark = "insecure-"

// publishedKeys returns the secrets in deploy/compose/secrets that are encoded, so that
// they do not show the mark.
func publishedKeys() []string {
	return []string{
		"aW5zZWN1cmUta2V5LW9mLXRoaXJ0eS10d28tYnl0ZXM=",
		"bb81fcd66b3282af9d19191f7b70b4c8e007aca688f87a579e833102ad3e7e53",
		"b6f61fc3045e8defd6356e4f0e8143ce57d4b5b44ca0a81c3c08d7a3ea62d122",
		"e845d185a088498e6b5925cc8e6335d271d1f6c826dbfa80ee1026af6b3facd1",
		"aef98c1d81e795ff88398b2da0027330f69cb96b9006f39b2a349c2c980f8b7b",
		"cf0451664ab8d7f2a0677a14168ef6cca6c23e435dd190597ba4f09d02f7e5c7",
	}
}

// CheckProduction returns as *Faults what a process that serves real customers
// must not be set to: published secrets, and what the structs within dst say in a method
// Production() error. dst was filled by Read. No secret is shown.
func CheckProduction(e Env, dst any) error {
	var all Faults
	for _, name := range Names(dst) {
		if IsPublished(e.Value(name)) {
			all.add(fmt.Errorf("%s holds a published secret for trying: make another one", name))
		}
	}
	each(reflect.ValueOf(dst), func(section any) {
		if s, ok := section.(interface{ Production() error }); ok {
			all.add(s.Production())
		}
	})
	return all.orNil()
}

// IsPublished reports whether a value has a secret in it that everybody knows, also in
// capitals or escaped in a URL.
func IsPublished(value string) bool {
	return hasMark(value) ||
		slices.ContainsFunc(publishedKeys(), func(key string) bool { return strings.Contains(value, key) })
}

func hasMark(value string) bool {
	if text, err := url.PathUnescape(value); err == nil {
		value = text
	}
	return strings.Contains(strings.ToLower(value), insecureMark)
}
