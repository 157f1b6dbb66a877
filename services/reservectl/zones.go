package reservectl

import (
	"fmt"
	"strings"
	"unicode"

	"reservation.dev/platform/zone"
)

// zoneRegions returns the prefixes of time zone names.
func zoneRegions() []string {
	return []string{
		"Europe/", "America/", "Asia/", "Africa/", "Australia/", "Pacific/", "Atlantic/", "Indian/", "Antarctica/",
		"America/Argentina/", "America/Indiana/", "America/Kentucky/", "UTC",
	}
}

// zoneHint suggests a time zone for a name that is not one. It returns "" if it finds none.
func zoneHint(name string) string {
	if _, err := zone.Load(name); err == nil {
		return ""
	}
	name = spelledAsZone(name)
	candidates := []string{name, strings.ToUpper(name)}
	city := name[strings.LastIndexByte(name, '/')+1:]
	for _, region := range zoneRegions() {
		candidates = append(candidates, region+city)
	}
	for _, candidate := range candidates {
		if _, err := zone.Load(candidate); err == nil {
			return fmt.Sprintf("; did you mean %s?", candidate)
		}
	}
	return ""
}

// spelledAsZone spells a name like a time zone: "new york" becomes "New_York".
func spelledAsZone(name string) string {
	begins := true
	return strings.Map(func(c rune) rune {
		if c == ' ' {
			c = '_'
		}
		if begins {
			c = unicode.ToUpper(c)
		} else {
			c = unicode.ToLower(c)
		}
		begins = !unicode.IsLetter(c)
		return c
	}, strings.TrimSpace(name))
}
