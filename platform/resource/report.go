package resource

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// TakingsReport converts a report of takings whose rows sum up the grouping.
func TakingsReport(in *reportsv1.GetTakingsResponse, by reportsv1.TakingsGrouping) *edgebv1.TakingsReport {
	c := in.GetCompared()
	out := &edgebv1.TakingsReport{
		Span: reportSpan(c.GetSpan()), Before: reportSpan(c.GetBefore()), AsOf: ReportTime(c.GetAsOf()), Complete: c.GetComplete(),
		Currency: in.GetCurrency(), Currencies: in.GetCurrencies(), Total: takings(in.GetTotal()), TotalBefore: takings(in.GetTotalBefore()),
	}
	for _, r := range in.GetRows() {
		key := r.GetKey()
		if by == reportsv1.TakingsGrouping_TAKINGS_GROUPING_TAX {
			key = percent(key)
		}
		row := &edgebv1.TakingsRow{Key: nullableText(key), Title: nullableText(r.GetTitle()), Takings: takings(r.GetTakings()), Before: takings(r.GetBefore())}
		row.ProductKind = nullableText("")
		if kind := r.GetProductKind(); kind != reportsv1.ProductKind_PRODUCT_KIND_UNSPECIFIED {
			row.ProductKind = nullableText(enum.Name(kind))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// percent converts a tax rate in basis points, such as "550", to percent: "5.5".
func percent(basisPoints string) string {
	n, err := strconv.ParseInt(basisPoints, 10, 64)
	if err != nil {
		return basisPoints
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(float64(n)/100, 'f', 2, 64), "0"), ".")
}

func takings(t *reportsv1.Takings) *edgebv1.TakingsSum {
	return &edgebv1.TakingsSum{
		Paid: amount(t.GetPaid()), Refunded: amount(t.GetRefunded()), Gross: amount(t.GetGross()), Net: amount(t.GetNet()), Tax: amount(t.GetTax()),
		Payments: t.GetPayments(), Refunds: t.GetRefunds(),
	}
}

// AttendanceReport converts a report of attendance.
func AttendanceReport(in *reportsv1.GetAttendanceResponse) *edgebv1.AttendanceReport {
	c := in.GetCompared()
	return &edgebv1.AttendanceReport{
		Span: reportSpan(c.GetSpan()), Before: reportSpan(c.GetBefore()), AsOf: ReportTime(c.GetAsOf()), Complete: c.GetComplete(),
		Total: attendance(in.GetTotal()), TotalBefore: attendance(in.GetTotalBefore()),
		Rows: edge.Convert(in.GetRows(), func(r *reportsv1.AttendanceRow) *edgebv1.AttendanceRow {
			return &edgebv1.AttendanceRow{
				Key: nullableText(r.GetKey()), Title: nullableText(r.GetTitle()), Attendance: attendance(r.GetAttendance()), Before: attendance(r.GetBefore()),
			}
		}),
	}
}

func attendance(a *reportsv1.Attendance) *edgebv1.AttendanceSum {
	return &edgebv1.AttendanceSum{
		Dates: a.GetDates(), Booked: a.GetBooked(), Attended: a.GetAttended(), NoShows: a.GetNoShows(), NotRecorded: a.GetNotRecorded(),
		Cancelled: a.GetCancelled(), CancelledLate: a.GetCancelledLate(), Capacity: a.GetCapacity(), BookedOfCapacity: a.GetBookedOfCapacity(),
	}
}

// CreditsReport converts a report of credits.
func CreditsReport(in *reportsv1.GetCreditsResponse) *edgebv1.CreditsReport {
	c := in.GetCompared()
	return &edgebv1.CreditsReport{
		Span: reportSpan(c.GetSpan()), Before: reportSpan(c.GetBefore()), AsOf: ReportTime(c.GetAsOf()), Complete: c.GetComplete(),
		Currency: in.GetCurrency(), Total: credits(in.GetTotal()), TotalBefore: credits(in.GetTotalBefore()),
		Rows: edge.Convert(in.GetRows(), func(r *reportsv1.CreditsRow) *edgebv1.CreditsRow {
			return &edgebv1.CreditsRow{
				PassId: nullableText(r.GetPassTypeId()), Title: nullableText(r.GetTitle()), Credits: credits(r.GetCredits()), Before: credits(r.GetBefore()),
			}
		}),
	}
}

func credits(c *reportsv1.Credits) *edgebv1.CreditsSum {
	return &edgebv1.CreditsSum{
		Opening: c.GetOpening(), Closing: c.GetClosing(), Added: c.GetAdded(), Used: c.GetUsed(), Expired: c.GetExpired(), Adjusted: c.GetAdjusted(),
		OpeningWorth: amount(c.GetOpeningWorth()), ClosingWorth: amount(c.GetClosingWorth()),
	}
}

// CustomersReport converts a report of customers.
func CustomersReport(in *reportsv1.GetCustomersResponse) *edgebv1.CustomersReport {
	c := in.GetCompared()
	return &edgebv1.CustomersReport{
		Span: reportSpan(c.GetSpan()), Before: reportSpan(c.GetBefore()), AsOf: ReportTime(c.GetAsOf()), Complete: c.GetComplete(),
		Total: customers(in.GetTotal()), TotalBefore: customers(in.GetTotalBefore()),
		Rows: edge.Convert(in.GetRows(), func(r *reportsv1.CustomersRow) *edgebv1.CustomersRow {
			return &edgebv1.CustomersRow{Key: r.GetKey(), Customers: customers(r.GetCustomers()), Before: customers(r.GetBefore())}
		}),
	}
}

func customers(c *reportsv1.Customers) *edgebv1.CustomersSum {
	return &edgebv1.CustomersSum{Total: c.GetTotal(), New: c.GetNew(), Active: c.GetActive(), Lost: c.GetLost(), Returned: c.GetReturned()}
}

// ExpiringPass converts a customer pass that expires in the span of a report.
func ExpiringPass(p *reportsv1.ExpiringPass) *edgebv1.ExpiringPass {
	return &edgebv1.ExpiringPass{
		CustomerPassId: p.GetCustomerPassId(), CustomerId: p.GetCustomerId(), PassId: p.GetPassTypeId(), Title: p.GetTitle(), ExpiryDate: p.GetExpiryDate(),
		RemainingUses: p.GetRemainingUses(), UnlimitedUses: p.GetUnlimitedUses(), Worth: amount(p.GetWorth()), Currency: p.GetCurrency(),
	}
}

// ReportTime converts the time up to which a report has all changes; null before it is complete.
func ReportTime(t *timestamppb.Timestamp) *edgev1.NullableText { return nullableTime(t) }

func reportSpan(s *reportsv1.Span) *edgebv1.ReportSpan {
	return &edgebv1.ReportSpan{From: s.GetFrom(), To: s.GetTo()}
}
