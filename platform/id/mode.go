package id

// testMark follows the prefix of identifiers in test mode.
const testMark = "test_"

// The version of a UUID is in the upper half of its seventh byte. RFC 9562 leaves the meaning of
// version 8 to the application.
const (
	versionByte = 6
	versionBits = 0xf0
	liveVersion = 0x70
	testVersion = 0x80
)

// modal is a kind whose identifiers show in which mode the resource exists.
type modal interface{ modal() }

func (companyKind) modal()           {}
func (apiClientKind) modal()         {}
func (apiKeyKind) modal()            {}
func (serviceCredentialKind) modal() {}
func (publishableKeyKind) modal()    {}

func hasMode(k Kind) bool {
	_, ok := k.(modal)
	return ok
}

// matchesMode reports whether u can be written with, or without, testMark. Operators choose the
// identifiers of the platform's service credentials, which have no mode and can have any version.
func matchesMode(k Kind, u UUID, marked bool) bool {
	_, isService := k.(serviceCredentialKind)
	return u.IsTest() == marked || isService && !marked
}

// IsTest reports whether u is the UUID of a company or credential in test mode.
func (u UUID) IsTest() bool { return u[versionByte]&versionBits == testVersion }

// Test returns the UUID of a resource in test mode that differs from u only in the mode.
func (u UUID) Test() UUID { return u.withVersion(testVersion) }

// Live returns the UUID of a resource in live mode that differs from u only in the mode.
func (u UUID) Live() UUID { return u.withVersion(liveVersion) }

func (u UUID) withVersion(v byte) UUID {
	u[versionByte] = u[versionByte]&^versionBits | v
	return u
}

// IsTest reports whether i is the identifier of a company or credential in test mode.
func (i ID[K]) IsTest() bool { return UUID(i).IsTest() }

// Test returns the identifier of the company that has the test data of company i. It is i if i has
// test data itself.
func (i ID[K]) Test() ID[K] { return ID[K](UUID(i).Test()) }

// Live returns the identifier of the company in live mode that company i belongs to. It is i if i is
// in live mode.
func (i ID[K]) Live() ID[K] { return ID[K](UUID(i).Live()) }
