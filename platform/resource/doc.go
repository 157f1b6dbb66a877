// Package resource converts the services' messages to the resources of Interface B. The gateway
// responds with these resources, and webhooks have them as their data, so that both show the same
// JSON. The functions only convert: they read no clock and call nobody.
package resource

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// JSON returns a resource as Interface B writes it.
func JSON(resource proto.Message) []byte { return edge.AppendJSON(nil, resource) }

// Members returns the members of a resource's JSON, in order.
func Members(resource proto.Message) []edge.Member { return edge.Members(resource) }

// utc formats an instant in UTC with whole seconds, or returns "" for nil.
func utc(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Truncate(time.Second).Format(time.RFC3339)
}

// nullableTime formats an instant as utc does. A nil instant is null.
func nullableTime(t *timestamppb.Timestamp) *edgev1.NullableText { return nullableText(utc(t)) }

// nullableText returns a text that is null if it is empty.
func nullableText(text string) *edgev1.NullableText {
	if text == "" {
		return &edgev1.NullableText{}
	}
	return &edgev1.NullableText{Value: &text}
}

func nullableInt(v *int32) *edgev1.NullableInt { return &edgev1.NullableInt{Value: v} }

// limit returns a limit that is null if it is 0, which means that there is none.
func limit(n int32) *edgev1.NullableInt {
	if n == 0 {
		return nullableInt(nil)
	}
	return nullableInt(&n)
}

func amount(minor int64) *edgev1.Amount { return &edgev1.Amount{Minor: minor} }
