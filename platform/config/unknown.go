package config

import (
	"slices"
	"strings"
)

// Unknown returns a warning for each variable of e that looks like a misspelt setting,
// such as WEBHOOK_TIMOUT: it is not one of the known settings, but starts like one of them
// up to the last "_" of the setting's name. Names that other programs use are ignored.
func Unknown(e Env, known []string) []string {
	var sentences []string
	for name, value := range e {
		base := strings.TrimSuffix(name, fileSuffix)
		// OS also sets the content of the file that a setting such as WEBHOOK_CA_FILE names.
		isKnown := slices.Contains(known, name) || slices.Contains(known, base) || slices.Contains(known, base+fileSuffix)
		if value != "" && !isKnown && resemblesSetting(base, known) {
			sentences = append(sentences, name+" is not a known setting; check the spelling")
		}
	}
	slices.Sort(sentences)
	return sentences
}

func resemblesSetting(name string, known []string) bool {
	return !isShared(name) && slices.ContainsFunc(known, func(setting string) bool {
		end := strings.LastIndexByte(setting, '_')
		return end > 0 && !isShared(setting) && strings.HasPrefix(name, setting[:end+1])
	})
}

// isShared reports whether a name says nothing about misspelt settings: HTTP_ADDR starts
// like HTTP_PROXY, a service can be given the addresses of all other services, the dashboard has
// the MEDIA_URL of another service, and reservectl reads RESERVATION_CREDENTIALS and
// RESERVATION_TOKEN.
func isShared(name string) bool {
	return strings.HasSuffix(name, "_ADDR") || isLink(name) || slices.Contains([]string{"MEDIA_URL", "RESERVATION_CREDENTIALS", "RESERVATION_TOKEN"}, name)
}

// isLink reports whether Kubernetes or Docker sets a variable of this name for the address
// of a service: WEBHOOK_SERVICE_HOST, WEBHOOK_SERVICE_PORT_GRPC, WEBHOOK_PORT_9000_TCP.
func isLink(name string) bool {
	return strings.HasSuffix(name, "_SERVICE_HOST") || strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_")
}
