package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// insecureMark is part of every published secret that is text. Published secrets are
// those in deploy/compose/secrets, for trying out the platform.
const insecureMark = "insecure-"

// publishedKeys returns the published secrets that are encoded and therefore do not
// contain insecureMark.
func publishedKeys() []string {
	return []string{
		"aW5zZWN1cmUta2V5LW9mLXRoaXJ0eS10d28tYnl0ZXM=",
		"bb81fcd66b3282af9d19191f7b70b4c8e007aca688f87a579e833102ad3e7e53",
		"b6f61fc3045e8defd6356e4f0e8143ce57d4b5b44ca0a81c3c08d7a3ea62d122",
		"e845d185a088498e6b5925cc8e6335d271d1f6c826dbfa80ee1026af6b3facd1",
		"aef98c1d81e795ff88398b2da0027330f69cb96b9006f39b2a349c2c980f8b7b",
		"cf0451664ab8d7f2a0677a14168ef6cca6c23e435dd190597ba4f09d02f7e5c7",
		"302fa3d2d62b2676c131b9f9239ee86d792bd4b79663a8b4e2c2e42c1d99237a",
		"747a08e2fad8c096c72610ff1e46a1a85012dbf6fcfc5ca196eb18bc6ddad7bf",
		"89fb17b33c93d990f6376b2d77261f1424c22fde4ec4984cedc80697fbcf6761",
	}
}

// CheckProduction returns, as *Faults, the settings that a process in production must not
// have: published secrets, and the errors of the method Production() error of the structs
// in dst. Read must have filled dst. The faults show no secret.
func CheckProduction(e Env, dst any) error {
	var all Faults
	for _, name := range Names(dst) {
		if IsPublished(e.Value(name)) {
			all.add(fmt.Errorf("%s contains a published secret from the repository: set a secret of your own", name))
		}
	}
	each(reflect.ValueOf(dst), func(section any) {
		if s, ok := section.(interface{ Production() error }); ok {
			all.add(s.Production())
		}
	})
	return all.orNil()
}

// IsPublished reports whether a value contains a published secret, also in capitals or
// escaped in a URL.
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
