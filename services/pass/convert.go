package pass

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func units() map[passv1.ValidityUnit]string {
	return map[passv1.ValidityUnit]string{
		passv1.ValidityUnit_VALIDITY_UNIT_DAY: "day", passv1.ValidityUnit_VALIDITY_UNIT_WEEK: "week",
		passv1.ValidityUnit_VALIDITY_UNIT_MONTH: "month", passv1.ValidityUnit_VALIDITY_UNIT_YEAR: "year",
	}
}

func passTypeMessage(t PassType) *passv1.PassType {
	out := &passv1.PassType{
		Id: t.ID.String(), Title: t.Title, Description: t.Description, TotalUses: t.TotalUses, ValidityCount: t.ValidityCount,
		Price: t.Price, Currency: t.Currency, EligibleEventTypes: t.EligibleEventTypes, Version: t.Version,
		CreatedAt: timestamppb.New(t.CreatedAt), UpdatedAt: timestamppb.New(t.UpdatedAt),
		Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE,
	}
	if t.Status == typeArchived {
		out.Status = passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED
	}
	for unit, name := range units() {
		if name == t.ValidityUnit {
			out.ValidityUnit = unit
		}
	}
	return out
}

func customerPassMessage(p CustomerPass, now time.Time, zone *time.Location) *passv1.CustomerPass {
	out := &passv1.CustomerPass{
		Id: p.ID.String(), CustomerId: p.CustomerID.String(), PassTypeId: p.PassTypeID.String(), RemainingUses: p.RemainingUses,
		StartDate: p.StartDate.Format(time.DateOnly), ExpiryDate: p.ExpiryDate.Format(time.DateOnly),
		Status: statusMessage(p.StatusAt(now, zone)), Version: p.Version,
		CreatedAt: timestamppb.New(p.CreatedAt), UpdatedAt: timestamppb.New(p.UpdatedAt),
	}
	if p.PaidGross != nil {
		out.Purchase = &passv1.PassPurchase{Gross: p.PaidGross, Currency: *p.PaidCurrency, Method: *p.PaidMethod}
		if p.PaidReference != nil {
			out.Purchase.Reference = *p.PaidReference
		}
	}
	return out
}

func statusMessage(status string) passv1.CustomerPassStatus {
	for message, name := range customerPassStatuses() {
		if name == status {
			return message
		}
	}
	return passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_UNSPECIFIED
}

// customerPassStatuses are the statuses of a customer pass by their numbers.
func customerPassStatuses() map[passv1.CustomerPassStatus]string {
	return map[passv1.CustomerPassStatus]string{
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE:    statusActive,
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PENDING:   statusPending,
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED: statusExhausted,
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED:   statusExpired,
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED:    statusPaused,
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED: statusCancelled,
	}
}

func ledgerMessage(e LedgerEntry) *passv1.LedgerEntry {
	out := &passv1.LedgerEntry{
		Sequence: e.Sequence, Credits: e.Credits, Balance: e.Balance, Actor: e.Actor, CreatedAt: timestamppb.New(e.CreatedAt),
		Reason: e.Reason,
	}
	switch e.Kind {
	case entryAssigned:
		out.Kind = passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED
	case entryRedeemed:
		out.Kind = passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED
	case entryReturned:
		out.Kind = passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_RETURNED
	case entryAdjusted:
		out.Kind = passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ADJUSTED
	}
	if !e.Redemption.IsZero() {
		out.RedemptionId, out.ItemId = e.Redemption.String(), e.Item.String()
	}
	return out
}
