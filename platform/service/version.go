package service

import "runtime/debug"

// Version is the version of the running binary: the module's, or the revision
// it was built from.
func Version() string {
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
