package pass

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func passTypeMessage(t PassType) *passv1.PassType {
	out := &passv1.PassType{
		Id: t.ID.String(), Title: t.Title, Description: t.Description, TotalUses: t.TotalUses,
		ValidityCount: t.ValidityCount, ValidityUnit: enumValue[passv1.ValidityUnit](t.ValidityUnit),
		Price: t.Price, Currency: t.Currency, EligibleEventTypes: t.EligibleEventTypes,
		Status: enumValue[passv1.PassTypeStatus](t.Status), Version: t.Version,
		CreatedAt: timestamppb.New(t.CreatedAt), UpdatedAt: timestamppb.New(t.UpdatedAt),
		UnlimitedUses: t.UnlimitedUses, NeverExpires: t.NeverExpires,
	}
	if t.ofPlan() {
		out.PlanId = id.Plan(t.ID.UUID()).String()
	}
	return out
}

// customerPassMessage returns the message of a pass on a day in the company's zone.
func customerPassMessage(p CustomerPass, loc *time.Location, today time.Time) *passv1.CustomerPass {
	out := &passv1.CustomerPass{
		Id: p.ID.String(), CustomerId: p.CustomerID.String(), PassTypeId: p.PassTypeID.String(), RemainingUses: p.uses(),
		StartDate: p.StartDate.Format(time.DateOnly), ExpiryDate: p.lastDay().Format(time.DateOnly),
		Status: enumValue[passv1.CustomerPassStatus](p.StatusOn(today)), Version: p.Version,
		CreatedAt: timestamppb.New(p.CreatedAt), UpdatedAt: timestamppb.New(p.UpdatedAt),
		CreatedOn: zone.StoredDay(p.CreatedOn, p.CreatedAt, p.EarlierZone, loc),
		Title:     p.Title, TotalUses: p.TotalUses, UnlimitedUses: p.UnlimitedUses, NeverExpires: p.neverExpires(),
	}
	if since := p.pausedSince(loc); since != nil {
		out.PausedSince = timestamppb.New(*since)
	}
	if p.ofSubscription() {
		out.SubscriptionId = id.Subscription(p.ID.UUID()).String()
	}
	if p.PaidGross != nil {
		out.Purchase = &passv1.PassPurchase{Gross: p.PaidGross, Currency: *p.PaidCurrency, Method: *p.PaidMethod}
		if p.PaidReference != nil {
			out.Purchase.Reference = *p.PaidReference
		}
	}
	return out
}

func ledgerMessages(list []LedgerEntry, loc *time.Location) []*passv1.LedgerEntry {
	out := make([]*passv1.LedgerEntry, len(list))
	for n, e := range list {
		out[n] = ledgerMessage(e, loc)
	}
	return out
}

func ledgerMessage(e LedgerEntry, loc *time.Location) *passv1.LedgerEntry {
	out := &passv1.LedgerEntry{
		Sequence: e.Sequence, Kind: enumValue[passv1.LedgerEntryKind](e.Kind), Credits: e.Credits, Balance: e.Balance,
		Actor: e.Actor, CreatedAt: timestamppb.New(e.CreatedAt), Reason: e.Reason,
		Day: zone.StoredDay(e.Day, e.CreatedAt, e.EarlierZone, loc),
	}
	if e.Kind == entryExpiredAtEnd {
		out.Kind = passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_EXPIRED
	}
	if e.Period != nil {
		out.Period = *e.Period
	}
	if !e.Redemption.IsZero() {
		out.RedemptionId, out.ItemId = e.Redemption.String(), e.Item.String()
	}
	return out
}

func redeemedResponse(r storedRedemption) *passv1.RedeemCreditsResponse {
	return &passv1.RedeemCreditsResponse{CustomerPassId: r.Pass.String(), Credits: r.Credits, RemainingUses: r.RemainingUses}
}

func redemptionResult(d decision) *passv1.RedemptionResult {
	if d.err != nil {
		return &passv1.RedemptionResult{Result: &passv1.RedemptionResult_Refused{Refused: fault.Status(d.err).Proto()}}
	}
	return &passv1.RedemptionResult{Result: &passv1.RedemptionResult_Redeemed{Redeemed: redeemedResponse(d.stored)}}
}

func redeemedMessage(r redeemed) *passv1.RedeemedCredits {
	return &passv1.RedeemedCredits{
		RedemptionId: r.redemption.String(), ItemId: r.item.String(), CustomerPassId: r.pass.String(), Credits: r.credits,
	}
}

// enumValue returns the enum value with a stored name.
func enumValue[E enum.Enum](name string) E {
	v, _ := enum.Parse[E](name)
	return v
}
