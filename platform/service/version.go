package service

import "runtime/debug"

// version is what a release is called; its build sets it, as
// -ldflags '-X reservation.dev/platform/service.version=1.2.3'.
var version string

// Version is the version of the running binary: what its build was told, the
// revision it was built from, or the module's.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if len(revision) >= 12 {
		return revision[:12] + modified
	}
	if v := info.Main.Version; v != "" {
		return v
	}
	return "unknown"
}
