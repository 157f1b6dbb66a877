package edge

import (
	"net/http"

	"reservation.dev/platform/id"
)

// modeHeader is in every response to a credential in test mode, errors too. Responses in live mode do
// not have it.
const modeHeader = "Reservation-Mode"

func announceMode(h http.Header, isTest bool) {
	if isTest {
		h.Set(modeHeader, "test")
	}
}

// isTestCredential reports whether an API client or an API key is in test mode.
func isTestCredential(clientID string) bool {
	client, _ := id.Parse[id.APIClient](clientID) // the zero value is in live mode
	key, _ := id.Parse[id.APIKey](clientID)
	return client.IsTest() || key.IsTest()
}
