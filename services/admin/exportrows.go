package admin

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// exportPage is the number of things that an export reads with one call.
const exportPage = 200

// listing is the response of a list.
type listing interface{ GetNextPageToken() string }

// paged returns a source that reads a list page by page. rows returns the rows of a page.
func paged[R listing](list func(token string) (R, error), rows func(R) ([][]csvfile.Cell, error)) rowSource {
	token := ""
	return func() ([][]csvfile.Cell, bool, error) {
		res, err := list(token)
		if err != nil {
			return nil, false, err
		}
		cells, err := rows(res)
		if err != nil {
			return nil, false, err
		}
		token = res.GetNextPageToken()
		return cells, token != "", nil
	}
}

// csvRows returns the rows of things that have one row each.
func csvRows[T any](all []T, row func(T) []csvfile.Cell) [][]csvfile.Cell {
	rows := make([][]csvfile.Cell, len(all))
	for i, item := range all {
		rows[i] = row(item)
	}
	return rows
}

// at returns the cells of a time: in UTC, and in a zone.
func at(t *timestamppb.Timestamp, local *time.Location) []csvfile.Cell {
	if t == nil {
		return []csvfile.Cell{{}, {}}
	}
	return []csvfile.Cell{csvfile.UTC(t.AsTime()), csvfile.Time(t.AsTime(), local)}
}

// utc returns the cell of a time in UTC.
func utc(t *timestamppb.Timestamp) csvfile.Cell {
	if t == nil {
		return csvfile.Cell{}
	}
	return csvfile.UTC(t.AsTime())
}

func customersExport() exportKind {
	ask := func(s exportSpan, size int32, token string, most int64) *customerv1.ListCustomersRequest {
		from, before := s.bounds()
		return &customerv1.ListCustomersRequest{
			PageSize: size, PageToken: token, Order: customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED,
			CreatedFrom: from, CreatedBefore: before, TotalLimit: most,
		}
	}
	return exportKind{
		name: "customers",
		header: []string{
			"customer_id", "reference", "firstname", "lastname", "email", "mobile", "archived", "created_at", "created_local", "zone", "updated_at",
		},
		count: func(r *request, s exportSpan) (int64, error) {
			res, err := r.services.customers.ListCustomers(r.ctx, ask(s, 1, "", countedMost))
			return res.GetTotal(), err
		},
		rows: func(r *request, s exportSpan) rowSource {
			list := func(token string) (*customerv1.ListCustomersResponse, error) {
				return r.services.customers.ListCustomers(r.ctx, ask(s, exportPage, token, 1))
			}
			return paged(list, func(res *customerv1.ListCustomersResponse) ([][]csvfile.Cell, error) {
				return csvRows(res.GetCustomers(), func(c *customerv1.Customer) []csvfile.Cell {
					cells := []csvfile.Cell{
						csvfile.Own(c.GetId()), csvfile.Text(c.GetReference()), csvfile.Text(c.GetFirstName()), csvfile.Text(c.GetLastName()),
						csvfile.Text(c.GetEmail()), csvfile.Text(c.GetMobile()), csvfile.Bool(c.GetArchived()),
					}
					cells = append(cells, at(c.GetCreatedAt(), s.zone)...)
					return append(cells, csvfile.Own(s.zone.String()), utc(c.GetUpdatedAt()))
				}), nil
			})
		},
	}
}

// bookingHeader are the columns of a booking, which two files have.
func bookingHeader() []string {
	return []string{
		"event_id", "event_date_id", "pricing_option_id", "customer_pass_id", "event", "event_type", "starts_at", "starts_local", "zone",
		"duration_minutes", "firstname", "lastname", "email", "purchaser_firstname", "purchaser_lastname", "purchaser_email",
		"spaces", "status", "attendance", "method", "currency", "price", "gross", "net", "discount", "discount_code", "refunded", "refund_due",
		"credits_used", "credits_returned", "payment_reference", "cancelled_at", "cancellation_reason", "refunded_at",
	}
}

// bookingCells returns the cells of bookingHeader.
func bookingCells(b *bookingv1.Booking, purchaser, attendee *bookingv1.CustomerReference) []csvfile.Cell {
	status := "booked"
	if b.GetIsCancelled() {
		status = "cancelled"
	}
	local, err := zone.Load(b.GetTimezone())
	if err != nil {
		local = time.UTC
	}
	cells := []csvfile.Cell{
		csvfile.Own(b.GetEventId()), csvfile.Own(b.GetEventDateId()), csvfile.Own(b.GetPricingOptionId()), csvfile.Own(b.GetPass().GetCustomerPassId()),
		csvfile.Text(b.GetEventTitle()), csvfile.Own(enum.Name(b.GetEventType())),
	}
	cells = append(cells, at(b.GetStartsAt(), local)...)
	cells = append(cells, csvfile.Own(b.GetTimezone()), csvfile.Int(b.GetDurationMinutes()))
	for _, c := range []*bookingv1.CustomerReference{attendee, purchaser} {
		cells = append(cells, csvfile.Text(c.GetFirstName()), csvfile.Text(c.GetLastName()), csvfile.Text(c.GetEmail()))
	}
	cells = append(cells, csvfile.Int(b.GetSpaces()), csvfile.Own(status), csvfile.Own(enum.Name(b.GetAttendance())))
	cells = append(cells, paymentCells(b)...)
	return append(cells, utc(b.GetCancelledAt()), csvfile.Text(b.GetCancellationReason()), utc(b.GetRefundedAt()))
}

// paymentCells returns the cells from method to payment_reference. Only money has amounts, only a pass has credits.
func paymentCells(b *bookingv1.Booking) []csvfile.Cell {
	var none csvfile.Cell
	if pass := b.GetPass(); pass != nil {
		return []csvfile.Cell{
			csvfile.Own("PASS"), none, none, none, none, none, none, none, none,
			csvfile.Int(pass.GetCreditsUsed()), csvfile.Int(b.GetCreditsReturned()), none,
		}
	}
	paid := b.GetCard()
	return []csvfile.Cell{
		csvfile.Own(strings.ToUpper(enum.Name(paid.GetMethod()))), csvfile.Own(paid.GetCurrency()), csvfile.Amount(b.GetPrice()),
		csvfile.Amount(paid.GetGross()), csvfile.Amount(paid.GetNet()), csvfile.Amount(paid.GetDiscount()), csvfile.Text(paid.GetDiscountCode()),
		csvfile.Amount(b.GetRefundedAmount()), csvfile.Amount(b.GetRefundDue()), none, none, csvfile.Text(paid.GetReference()),
	}
}

// attendeeOf returns the customer who attends a booking.
func attendeeOf(b *bookingv1.Booking, purchaser *bookingv1.CustomerReference) *bookingv1.CustomerReference {
	if b.GetBoughtFor() != nil {
		return b.GetBoughtFor()
	}
	return purchaser
}

func transactionsExport() exportKind {
	ask := func(s exportSpan, size int32, token string, most int64) *bookingv1.ListCompanyTransactionsRequest {
		from, before := s.bounds()
		return &bookingv1.ListCompanyTransactionsRequest{
			PageSize: size, PageToken: token, Order: bookingv1.TransactionOrder_TRANSACTION_ORDER_PURCHASED,
			PurchasedFrom: from, PurchasedBefore: before, TotalLimit: most,
		}
	}
	return exportKind{
		name: "transactions", several: true,
		header: append([]string{
			"transaction_id", "registration_id", "purchaser_id", "customer_id", "purchased_at", "purchased_local", "purchase_zone",
		}, bookingHeader()...),
		count: func(r *request, s exportSpan) (int64, error) {
			res, err := r.services.bookings.ListCompanyTransactions(r.ctx, ask(s, 1, "", countedMost))
			return res.GetTotal(), err
		},
		rows: func(r *request, s exportSpan) rowSource {
			list := func(token string) (*bookingv1.ListCompanyTransactionsResponse, error) {
				return r.services.bookings.ListCompanyTransactions(r.ctx, ask(s, exportPage, token, 1))
			}
			return paged(list, func(res *bookingv1.ListCompanyTransactionsResponse) (rows [][]csvfile.Cell, err error) {
				for _, t := range res.GetTransactions() {
					for _, b := range t.GetBookings() {
						attendee := attendeeOf(b, t.GetPurchaser())
						cells := []csvfile.Cell{
							csvfile.Own(t.GetId()), csvfile.Own(b.GetId()), csvfile.Own(t.GetPurchaser().GetId()), csvfile.Own(attendee.GetId()),
						}
						cells = append(cells, at(t.GetPurchasedAt(), s.zone)...)
						cells = append(cells, csvfile.Own(s.zone.String()))
						rows = append(rows, append(cells, bookingCells(b, t.GetPurchaser(), attendee)...))
					}
				}
				return rows, nil
			})
		},
	}
}

func passesExport() exportKind {
	ask := func(s exportSpan, size int32, token string, most int64) *passv1.ListCustomerPassesRequest {
		from, before := s.bounds()
		return &passv1.ListCustomerPassesRequest{
			PageSize: size, PageToken: token, Order: passv1.PassOrder_PASS_ORDER_CREATED, CreatedFrom: from, CreatedBefore: before, TotalLimit: most,
		}
	}
	return exportKind{
		name: "passes",
		header: []string{
			"customer_pass_id", "customer_id", "pass_type_id", "subscription_id", "title", "firstname", "lastname", "email", "status",
			"total_uses", "remaining_uses", "unlimited_uses", "start_date", "expiry_date", "currency", "gross", "method", "payment_reference",
			"created_at", "created_local", "zone", "updated_at",
		},
		count: func(r *request, s exportSpan) (int64, error) {
			res, err := r.services.passes.ListCustomerPasses(r.ctx, ask(s, 1, "", countedMost))
			return res.GetTotal(), err
		},
		rows: func(r *request, s exportSpan) rowSource {
			list := func(token string) (*passv1.ListCustomerPassesResponse, error) {
				return r.services.passes.ListCustomerPasses(r.ctx, ask(s, exportPage, token, 1))
			}
			return paged(list, func(res *passv1.ListCustomerPassesResponse) ([][]csvfile.Cell, error) {
				holders, err := r.holders(views(res.GetCustomerPasses(), (*passv1.CustomerPass).GetCustomerId))
				return csvRows(res.GetCustomerPasses(), func(p *passv1.CustomerPass) []csvfile.Cell {
					return passCells(p, holders[p.GetCustomerId()], s.zone)
				}), err
			})
		},
	}
}

// passCells returns the cells of a pass. A number of uses or a last day without a limit is an empty cell.
func passCells(p *passv1.CustomerPass, holder *customerv1.Customer, local *time.Location) []csvfile.Cell {
	var total, remaining, expiry, gross csvfile.Cell
	if !p.GetUnlimitedUses() {
		total, remaining = csvfile.Int(p.GetTotalUses()), csvfile.Int(p.GetRemainingUses())
	}
	if !p.GetNeverExpires() {
		expiry = csvfile.Own(p.GetExpiryDate())
	}
	paid := p.GetPurchase()
	if paid != nil {
		gross = csvfile.Amount(paid.GetGross())
	}
	cells := []csvfile.Cell{
		csvfile.Own(p.GetId()), csvfile.Own(p.GetCustomerId()), csvfile.Own(p.GetPassTypeId()), csvfile.Own(p.GetSubscriptionId()),
		csvfile.Text(p.GetTitle()), csvfile.Text(holder.GetFirstName()), csvfile.Text(holder.GetLastName()), csvfile.Text(holder.GetEmail()),
		csvfile.Own(enum.Name(p.GetStatus())), total, remaining, csvfile.Bool(p.GetUnlimitedUses()), csvfile.Own(p.GetStartDate()), expiry,
		csvfile.Own(paid.GetCurrency()), gross, csvfile.Own(paid.GetMethod()), csvfile.Text(paid.GetReference()),
	}
	cells = append(cells, at(p.GetCreatedAt(), local)...)
	return append(cells, csvfile.Own(local.String()), utc(p.GetUpdatedAt()))
}

// holders returns customers by identifier, deleted ones too.
func (r *request) holders(ids []string) (map[string]*customerv1.Customer, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	res, err := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: ids, IncludeDeleted: true})
	if err != nil {
		return nil, err
	}
	all := make(map[string]*customerv1.Customer, len(ids))
	for _, c := range res.GetCustomers() {
		all[c.GetId()] = c
	}
	return all, nil
}

func ledgerExport() exportKind {
	ask := func(s exportSpan, size int32, token string, most int64) *passv1.ListCompanyLedgerEntriesRequest {
		from, before := s.bounds()
		return &passv1.ListCompanyLedgerEntriesRequest{PageSize: size, PageToken: token, CreatedFrom: from, CreatedBefore: before, TotalLimit: most}
	}
	return exportKind{
		name: "ledger",
		header: []string{
			"customer_pass_id", "sequence", "customer_id", "transaction_id", "registration_id", "title", "kind", "credits", "balance",
			"period", "reason", "made_by", "created_at", "created_local", "zone",
		},
		count: func(r *request, s exportSpan) (int64, error) {
			res, err := r.services.passes.ListCompanyLedgerEntries(r.ctx, ask(s, 1, "", countedMost))
			return res.GetTotal(), err
		},
		rows: func(r *request, s exportSpan) rowSource {
			list := func(token string) (*passv1.ListCompanyLedgerEntriesResponse, error) {
				return r.services.passes.ListCompanyLedgerEntries(r.ctx, ask(s, exportPage, token, 1))
			}
			return paged(list, func(res *passv1.ListCompanyLedgerEntriesResponse) ([][]csvfile.Cell, error) {
				return csvRows(res.GetEntries(), func(c *passv1.CompanyLedgerEntry) []csvfile.Cell {
					e := c.GetEntry()
					var period csvfile.Cell
					if e.GetPeriod() > 0 {
						period = csvfile.Int(e.GetPeriod())
					}
					cells := []csvfile.Cell{
						csvfile.Own(c.GetCustomerPassId()), csvfile.Int(e.GetSequence()), csvfile.Own(c.GetCustomerId()), csvfile.Own(e.GetRedemptionId()),
						csvfile.Own(e.GetItemId()), csvfile.Text(c.GetPassTitle()), csvfile.Own(enum.Name(e.GetKind())), csvfile.Int(e.GetCredits()),
						csvfile.Int(e.GetBalance()), period, csvfile.Text(e.GetReason()), csvfile.Text(e.GetActor()),
					}
					cells = append(cells, at(e.GetCreatedAt(), s.zone)...)
					return append(cells, csvfile.Own(s.zone.String()))
				}), nil
			})
		},
	}
}
