package resource

import (
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// LedgerEntry converts a change of the uses of a customer pass.
func LedgerEntry(e *passv1.LedgerEntry) *edgebv1.LedgerEntry {
	return &edgebv1.LedgerEntry{
		Sequence: e.GetSequence(), Kind: enum.Name(e.GetKind()), Change: e.GetCredits(), Balance: e.GetBalance(), Reason: e.GetReason(),
		TransactionId: nullableText(e.GetRedemptionId()), At: utc(e.GetCreatedAt()), Period: limit(e.GetPeriod()),
	}
}
