package service

import "runtime/debug"

// version is the release's version. Its build sets it with
// -ldflags '-X reservation.dev/platform/service.version=1.2.3'.
var version string

// Version returns the version of the running binary: the version that the build set, else
// the first 12 digits of the revision, else the module's version, else "unknown".
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
