package gatewaya

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/zone"
)

// clock formats instants as local time of a zone.
type clock struct {
	name string
	loc  *time.Location
}

// clockOf returns the clock of a zone.
func clockOf(timezone string) (clock, error) {
	loc, err := zone.Load(timezone)
	return clock{timezone, loc}, err
}

// companyClock returns the clock of the caller's company. If the token has no zone that this release
// knows, it is the clock of UTC, which tz then names.
func companyClock(ctx context.Context) clock {
	if claims := edge.Claims(ctx); claims != nil {
		if c, err := clockOf(claims.Zone); err == nil {
			return c
		}
	}
	return clock{"UTC", time.UTC}
}

// local formats an instant as local time, without an offset.
func (c clock) local(at *timestamppb.Timestamp) string {
	return at.AsTime().In(c.loc).Format("2006-01-02T15:04:05")
}
