package booking

import (
	"context"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Each statement computes a number from the rows that it should follow from.
const (
	verifyDatesSQL = `select d.id, d.booked::bigint, coalesce(n.spaces, 0)::bigint, d.capacity
		from event_dates d left join (
			select b.event_date_id, sum(b.spaces) as spaces from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
			where b.company_id = $1 and not b.is_cancelled and t.status <> 'released' group by b.event_date_id
		) n on n.event_date_id = d.id
		where d.company_id = $1`

	verifyCodesSQL = `select c.id, c.uses::bigint, (select count(*) from transactions t
			where t.company_id = $1 and t.discount_code_id = c.id and t.status <> 'released'), null::integer
		from discount_codes c where c.company_id = $1`

	// What an open offer, or a purchase for somebody who waited, has.
	verifyWaitlistSQL = `select w.id, w.spaces::bigint, coalesce((select sum(b.spaces) from bookings b join transactions t
				on t.company_id = b.company_id and t.id = b.transaction_id
			where b.company_id = $1 and b.transaction_id = w.transaction_id and t.status in ('held', 'pending', 'undoing')), 0)::bigint, null::integer
		from waitlist_entries w where w.company_id = $1 and w.state in ('offered', 'booking')`

	verifyEventsSQL = `select coalesce((select events from event_totals where company_id = $1), 0),
		(select count(*) from events where company_id = $1 and deleted_at is null)`

	passPaymentsSQL = `select t.id, b.id, b.customer_pass_id, case when b.is_refunded then 0 else b.credits_used end
		from transactions t join bookings b on b.company_id = t.company_id and b.transaction_id = t.id
		where t.company_id = $1 and t.status = 'confirmed' and t.source = 'live' and b.method = 'PASS' and b.customer_pass_id is not null
		order by t.id, b.id`

	paymentChunk = 1000
)

// VerifyBookings implements VerificationService.
func (s *Server) VerifyBookings(_ *bookingv1.VerifyBookingsRequest, out grpc.ServerStreamingServer[bookingv1.VerifyBookingsResponse]) error {
	ctx := out.Context()
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	var checked int64
	tell := func(what, which string, stored, computed int64) error {
		return out.Send(&bookingv1.VerifyBookingsResponse{Difference: &bookingv1.BookingDifference{What: what, Id: which, Stored: stored, Computed: computed}})
	}
	check := func(sql, what string, name func(id.UUID) string) error {
		return s.stream(ctx, company.ID, sql, func(rows pgx.Rows) error {
			var which id.UUID
			var stored, computed int64
			var most *int32
			if err := rows.Scan(&which, &stored, &computed, &most); err != nil {
				return err
			}
			checked++
			if stored != computed {
				if err := tell(what, name(which), stored, computed); err != nil {
					return err
				}
			}
			if most != nil && computed > int64(*most) {
				return tell("event_date.capacity", name(which), int64(*most), computed)
			}
			return nil
		})
	}
	if err := check(verifyDatesSQL, "event_date.booked", func(u id.UUID) string { return id.EventDate(u).String() }); err != nil {
		return err
	}
	if err := check(verifyCodesSQL, "discount_code.uses", func(u id.UUID) string { return id.DiscountCode(u).String() }); err != nil {
		return err
	}
	if err := check(verifyWaitlistSQL, "waitlist_entry.spaces", func(u id.UUID) string { return id.WaitlistEntry(u).String() }); err != nil {
		return err
	}
	err = s.stream(ctx, company.ID, verifyEventsSQL, func(rows pgx.Rows) error {
		var stored, computed int64
		if err := rows.Scan(&stored, &computed); err != nil {
			return err
		}
		checked++
		if stored == computed {
			return nil
		}
		return tell("events.total", "", stored, computed)
	})
	if err != nil {
		return err
	}
	return out.Send(&bookingv1.VerifyBookingsResponse{Checked: checked})
}

// ExportPassPayments implements VerificationService.
func (s *Server) ExportPassPayments(_ *bookingv1.ExportPassPaymentsRequest, out grpc.ServerStreamingServer[bookingv1.ExportPassPaymentsResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	chunk := &bookingv1.ExportPassPaymentsResponse{}
	err = s.stream(out.Context(), company.ID, passPaymentsSQL, func(rows pgx.Rows) error {
		var t id.Transaction
		var b id.Booking
		var pass id.CustomerPass
		var credits int32
		if err := rows.Scan(&t, &b, &pass, &credits); err != nil {
			return err
		}
		chunk.Payments = append(chunk.Payments, &bookingv1.BookedCredits{
			TransactionId: t.String(), BookingId: b.String(), CustomerPassId: pass.String(), Credits: credits,
		})
		if len(chunk.Payments) < paymentChunk {
			return nil
		}
		err := out.Send(chunk)
		chunk = &bookingv1.ExportPassPaymentsResponse{}
		return err
	})
	if err != nil || len(chunk.GetPayments()) == 0 {
		return err
	}
	return out.Send(chunk)
}

func (s *Server) stream(ctx context.Context, company id.Company, sql string, each func(pgx.Rows) error) error {
	return s.store.fault(s.store.db.Stream(ctx, pg.For(company), sql, []any{company}, each))
}
