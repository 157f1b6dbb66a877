package additions

import (
	"fmt"
	"testing"

	"reservation.dev/test/harness"
)

func testReports(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")
	clay := c.event(t, nil)
	booked := c.register(t, clay, ada, nil)
	c.register(t, clay, ada, nil)
	c.do(t, path(text(booked, "id"))+"/cancel", nil)
	c.do(t, path(text(booked, "id"))+"/refund", object{"amount": 15.5})

	today := "from=" + date(-1) + "&to=" + date(1)
	week := "from=" + date(0) + "&to=" + date(14)
	t.Run("takings have the payments and refunds of an event", func(t *testing.T) {
		harness.Eventually(t, waiting, func() error {
			report := c.get(t, "/reports/takings?groupBy=product&"+today)
			if report["complete"] != true || at(report, "total.refunded") != 15.5 || at(report, "total.paid") != float64(80) {
				return fmt.Errorf("got %v", report)
			}
			has(t, report, object{
				"currency": "GBP", "total.gross": 64.5, "total.payments": 2, "total.refunds": 1, "totalBefore.paid": 0,
				"rows.0.key": clay["id"], "rows.0.title": "Clay", "rows.0.productKind": "event", "rows.0.takings.gross": 64.5,
			})
			return nil
		})
	})
	t.Run("attendance has the spots of the dates in the span", func(t *testing.T) {
		harness.Eventually(t, waiting, func() error {
			report := c.get(t, "/reports/attendance?"+week)
			if at(report, "total.cancelled") != float64(1) {
				return fmt.Errorf("got %v", report)
			}
			has(t, report, object{"total.dates": 1, "total.booked": 1, "total.capacity": 10, "total.bookedOfCapacity": 1, "rows.0.key": clay["id"], "rows.0.title": "Clay"})
			return nil
		})
	})
	t.Run("credits and expiring passes follow a new pass", func(t *testing.T) {
		five := c.passType(t, nil)
		pass := c.give(t, five, ada, nil)
		harness.Eventually(t, waiting, func() error {
			report := c.get(t, "/reports/credits?"+today)
			if at(report, "total.added") != float64(5) {
				return fmt.Errorf("got %v", report)
			}
			has(t, report, object{"total.opening": 0, "total.closing": 5, "rows.0.passId": five["id"], "rows.0.title": "Five classes"})
			return nil
		})
		list := c.get(t, "/reports/expiring-passes?to="+date(60))
		has(t, list, object{"total": 1, "page": 1, "expiringPasses.0.customerPassId": pass["id"], "expiringPasses.0.customerId": ada, "expiringPasses.0.remainingUses": 5})
		has(t, c.get(t, "/reports/expiring-passes?to="+date(1)), object{"total": 0})
	})
	t.Run("customers have the new and the active ones", func(t *testing.T) {
		has(t, c.get(t, "/reports/customers?"+week), object{"total.total": 1, "total.new": 1, "total.active": 1})
	})
	t.Run("a span that ends before it begins and an unknown grouping are refused", func(t *testing.T) {
		c.refuses(t, "INVALID_PARAMETER", get, "/reports/takings?from="+date(1)+"&to="+date(0), nil)
		c.refuses(t, "INVALID_PARAMETER", get, "/reports/attendance?groupBy=method", nil)
		c.refuses(t, "INVALID_PARAMETER", get, "/reports/customers?period=day&from="+date(-400)+"&to="+date(0), nil)
	})
	t.Run("another company sees none of it", func(t *testing.T) {
		has(t, p.newCaller(t).get(t, "/reports/takings?"+today), object{"total.paid": 0, "totalBefore.paid": 0})
	})
}
