package pass

import (
	"context"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Each statement computes a number from the rows that it should follow from.
const (
	verifyUsesSQL = `select p.id, p.remaining_uses::bigint, coalesce(sum(e.credits), 0)::bigint
		from customer_passes p left join ledger_entries e on e.company_id = p.company_id and e.customer_pass_id = p.id
		where p.company_id = $1 group by p.id, p.remaining_uses`

	verifyBalancesSQL = `select e.customer_pass_id, e.balance::bigint,
			sum(e.credits) over (partition by e.customer_pass_id order by e.sequence)::bigint
		from ledger_entries e where e.company_id = $1`

	// What an item holds is what the ledger took for it and did not give back. Of
	// a booking that was imported the ledger has the return alone.
	verifyRedemptionsSQL = `select i.redemption_id, (i.credits - i.returned)::bigint,
			case when r.customer_pass_id is null then 0 else -coalesce(e.credits, 0) end
		from redemption_items i
			join redemptions r on r.company_id = i.company_id and r.id = i.redemption_id
			left join lateral (select sum(credits)::bigint as credits from ledger_entries e
				where e.company_id = i.company_id and e.customer_pass_id = i.customer_pass_id
					and e.redemption_id = i.redemption_id and e.item_id = i.item_id) e on true
		where i.company_id = $1`

	verifyTotalsSQL = `select coalesce((select pass_types from pass_totals where company_id = $1), 0),
			(select count(*) from pass_types where company_id = $1),
			coalesce((select customer_passes from pass_totals where company_id = $1), 0),
			(select count(*) from customer_passes where company_id = $1)`

	exportRedemptionsSQL = `select redemption_id, item_id, customer_pass_id, credits - returned from redemption_items
		where company_id = $1 order by redemption_id, item_id`
)

// redemptionChunk is how many items one message of an export carries.
const redemptionChunk = 1000

// VerifyPasses implements PassService.
func (s *Server) VerifyPasses(_ *passv1.VerifyPassesRequest, out grpc.ServerStreamingServer[passv1.VerifyPassesResponse]) error {
	ctx := out.Context()
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	var checked int64
	check := func(what, which string, stored, computed int64) error {
		checked++
		if stored == computed {
			return nil
		}
		return out.Send(&passv1.VerifyPassesResponse{Difference: &passv1.PassDifference{What: what, Id: which, Stored: stored, Computed: computed}})
	}
	of := func(sql, what string, name func(id.UUID) string) error {
		return s.stream(ctx, company.ID, sql, func(rows pgx.Rows) error {
			var row id.UUID
			var stored, computed int64
			if err := rows.Scan(&row, &stored, &computed); err != nil {
				return err
			}
			return check(what, name(row), stored, computed)
		})
	}
	passName := func(u id.UUID) string { return id.CustomerPass(u).String() }
	if err := of(verifyUsesSQL, "customer_pass.remaining_uses", passName); err != nil {
		return err
	}
	if err := of(verifyBalancesSQL, "ledger.balance", passName); err != nil {
		return err
	}
	if err := of(verifyRedemptionsSQL, "redemption.credits", func(u id.UUID) string { return id.Transaction(u).String() }); err != nil {
		return err
	}
	err = s.stream(ctx, company.ID, verifyTotalsSQL, func(rows pgx.Rows) error {
		var types, countedTypes, passes, countedPasses int64
		if err := rows.Scan(&types, &countedTypes, &passes, &countedPasses); err != nil {
			return err
		}
		if err := check("pass_types.total", "", types, countedTypes); err != nil {
			return err
		}
		return check("customer_passes.total", "", passes, countedPasses)
	})
	if err != nil {
		return err
	}
	return out.Send(&passv1.VerifyPassesResponse{Checked: checked})
}

// ExportRedemptions implements PassService.
func (s *Server) ExportRedemptions(_ *passv1.ExportRedemptionsRequest, out grpc.ServerStreamingServer[passv1.ExportRedemptionsResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	chunk := &passv1.ExportRedemptionsResponse{}
	err = s.stream(out.Context(), company.ID, exportRedemptionsSQL, func(rows pgx.Rows) error {
		var redemption id.Transaction
		var item id.Booking
		var pass id.CustomerPass
		var credits int32
		if err := rows.Scan(&redemption, &item, &pass, &credits); err != nil {
			return err
		}
		chunk.Redemptions = append(chunk.Redemptions, &passv1.RedeemedCredits{
			RedemptionId: redemption.String(), ItemId: item.String(), CustomerPassId: pass.String(), Credits: credits,
		})
		if len(chunk.Redemptions) < redemptionChunk {
			return nil
		}
		err := out.Send(chunk)
		chunk = &passv1.ExportRedemptionsResponse{}
		return err
	})
	if err != nil || len(chunk.GetRedemptions()) == 0 {
		return err
	}
	return out.Send(chunk)
}

func (s *Server) stream(ctx context.Context, company id.Company, sql string, each func(pgx.Rows) error) error {
	return pg.Fault(s.store.db.Stream(ctx, pg.For(company), sql, []any{company}, each), nil)
}
