package fault_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
)

// kinds maps every kind to its gRPC code.
var kinds = map[fault.Kind]codes.Code{
	fault.Internal: codes.Internal, fault.Invalid: codes.InvalidArgument, fault.Unauthenticated: codes.Unauthenticated,
	fault.Forbidden: codes.PermissionDenied, fault.NotFound: codes.NotFound, fault.Refused: codes.FailedPrecondition,
	fault.VersionMismatch: codes.Aborted, fault.Conflict: codes.AlreadyExists, fault.RateLimited: codes.ResourceExhausted,
	fault.Unavailable: codes.Unavailable, fault.TooLarge: codes.ResourceExhausted,
}

// reasonOf returns a reason for faults of a kind.
func reasonOf(kind fault.Kind) string {
	if kind == fault.TooLarge {
		return fault.ReasonPayloadTooLarge
	}
	return "SOME_REASON"
}

// overTheWire sends err as a server does and reads it as a client does.
func overTheWire(err error) *fault.Error { return fault.From(fault.Status(err).Err()) }

func TestWire(t *testing.T) {
	t.Parallel()
	t.Run("a fault of every kind is the same value on both sides", func(t *testing.T) {
		t.Parallel()
		for kind, code := range kinds {
			if kind == fault.Internal {
				continue
			}
			sent := &fault.Error{
				Kind: kind, Reason: reasonOf(kind), Message: "a sentence", RetryAfter: 1500 * time.Millisecond,
				Fields: []fault.Field{
					{Field: "lines[0].spaces", Rule: "min", Message: "is below 1"},
					{Field: "email", Rule: "required", Message: "is required"},
				},
				Meta: map[string]string{"scope": "bookings:write", "kind": "class"},
			}
			if got := fault.Status(sent).Code(); got != code {
				t.Errorf("kind %d travels as %s, want %s", kind, got, code)
			}
			if got := overTheWire(sent); !reflect.DeepEqual(got, sent) {
				t.Errorf("kind %d: sent %+v, got %+v", kind, sent, got)
			}
		}
	})
	t.Run("a fault survives several hops", func(t *testing.T) {
		t.Parallel()
		sent := fault.Refuse("EVENT_FULL", "the date is full").With("left", "2")
		var err error = sent
		for range 3 {
			err = fmt.Errorf("hop: %w", fault.Status(err).Err())
		}
		if got := fault.From(err); !reflect.DeepEqual(got, sent) {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("invalid UTF-8 in a text is replaced", func(t *testing.T) {
		t.Parallel()
		got := overTheWire(fault.InvalidFields(fault.Field{Field: "na\xffme", Rule: "format", Message: "is \xfe odd"}).With("k\xff", "v\xff"))
		if got.Kind != fault.Invalid || len(got.Fields) != 1 || got.Fields[0].Field != "na\uFFFDme" || got.Meta["k\uFFFD"] != "v\uFFFD" {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("the end of a context keeps its code, and a fault about it keeps its kind", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			err  error
			want codes.Code
		}{
			{context.Canceled, codes.Canceled},
			{fmt.Errorf("query: %w", context.DeadlineExceeded), codes.DeadlineExceeded},
			{fault.Away(context.DeadlineExceeded), codes.Unavailable},
			{fault.Missing("customer").Because(context.Canceled), codes.NotFound},
			{nil, codes.OK},
		} {
			if got := fault.Status(c.err).Code(); got != c.want {
				t.Errorf("%v becomes %s, want %s", c.err, got, c.want)
			}
		}
	})
	t.Run("the metadata has only the facts of the reason", func(t *testing.T) {
		t.Parallel()
		for kind := range kinds {
			for _, d := range fault.Status(fault.New(kind, reasonOf(kind), "a sentence").With("scope", "bookings:write")).Details() {
				info, ok := d.(*errdetails.ErrorInfo)
				if want := map[string]string{"scope": "bookings:write"}; ok && kind != fault.Internal && !maps.Equal(info.GetMetadata(), want) {
					t.Errorf("kind %d: the metadata is %v, want %v", kind, info.GetMetadata(), want)
				}
			}
		}
	})
}

func TestWireHidesCauses(t *testing.T) {
	t.Parallel()
	t.Run("the cause is not sent", func(t *testing.T) {
		t.Parallel()
		st := fault.Status(fault.Missing("customer").Because(errors.New("select from hidden_table")))
		if strings.Contains(fmt.Sprint(st.Proto()), "hidden") {
			t.Fatal(st.Proto())
		}
	})
	t.Run("the text of wrapping errors is not sent", func(t *testing.T) {
		t.Parallel()
		for _, inner := range []error{fault.Missing("customer"), fault.Status(fault.Missing("customer")).Err()} {
			st := fault.Status(fmt.Errorf("hidden: %w", fmt.Errorf("hidden too: %w", inner)))
			if st.Code() != codes.NotFound || st.Message() != "customer not found" || strings.Contains(fmt.Sprint(st.Proto()), "hidden") {
				t.Errorf("got %v", st.Proto())
			}
		}
	})
	t.Run("an internal fault is sent without details", func(t *testing.T) {
		t.Parallel()
		for _, err := range []error{
			errors.New("hidden"), fault.New(fault.Internal, "HIDDEN_REASON", "hidden").With("hidden", "x").After(time.Second),
			status.Error(codes.DataLoss, "hidden"), status.Error(codes.NotFound, "hidden"), status.Error(codes.Unknown, "hidden"),
			fault.New(fault.Kind(200), "HIDDEN", "hidden"),
		} {
			st := fault.Status(err)
			if st.Code() != codes.Internal || st.Message() != "internal error" || strings.Contains(strings.ToLower(fmt.Sprint(st.Proto())), "hidden") {
				t.Errorf("%v becomes %v", err, st.Proto())
			}
			if got := overTheWire(err); got.Kind != fault.Internal || got.Reason != fault.ReasonInternal {
				t.Errorf("%v arrives as %+v", err, got)
			}
		}
	})
}

func TestWireWithThePreviousRelease(t *testing.T) {
	t.Parallel()
	t.Run("a fault of the previous release, with the kind in the metadata, is the same value", func(t *testing.T) {
		t.Parallel()
		for kind, code := range kinds {
			if kind == fault.Internal {
				continue
			}
			st, err := status.New(code, "a sentence").WithDetails(&errdetails.ErrorInfo{
				Reason: reasonOf(kind), Domain: "reservation.dev", Metadata: map[string]string{"faultKind": strconv.Itoa(int(kind)), "left": "2"},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := fault.New(kind, reasonOf(kind), "a sentence").With("left", "2")
			if got := fault.From(st.Err()); !reflect.DeepEqual(got, want) {
				t.Errorf("kind %d: got %+v, want %+v", kind, got, want)
			}
		}
	})
	t.Run("the kind depends only on the code and the reason", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []string{"99", "256", "-1", "x", "", "0"} {
			st, err := status.New(codes.NotFound, "gone").WithDetails(&errdetails.ErrorInfo{
				Reason: "GONE", Domain: "reservation.dev", Metadata: map[string]string{"faultKind": kind},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := fault.From(st.Err())
			if got.Kind != fault.NotFound || len(got.Meta) > 0 || fault.Status(got).Code() != codes.NotFound {
				t.Errorf("kind %q: got %+v", kind, got)
			}
		}
	})
}

func TestFrom(t *testing.T) {
	t.Parallel()
	t.Run("a status of another server is read by its code", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			err    error
			kind   fault.Kind
			reason string
		}{
			{status.Error(codes.Unavailable, "x"), fault.Unavailable, fault.ReasonServiceUnavailable},
			{status.Error(codes.DeadlineExceeded, "x"), fault.Unavailable, fault.ReasonServiceUnavailable},
			{status.Error(codes.Canceled, "x"), fault.Unavailable, fault.ReasonServiceUnavailable},
			{status.Error(codes.ResourceExhausted, "x"), fault.RateLimited, fault.ReasonRateLimitExceeded},
			{status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 8)"), fault.TooLarge, fault.ReasonPayloadTooLarge},
			{status.Error(codes.NotFound, "x"), fault.Internal, fault.ReasonInternal},
			{status.Error(codes.Unimplemented, "x"), fault.Internal, fault.ReasonInternal},
			{fmt.Errorf("call: %w", status.Error(codes.Unavailable, "x")), fault.Unavailable, fault.ReasonServiceUnavailable},
			{context.DeadlineExceeded, fault.Unavailable, fault.ReasonServiceUnavailable},
			{context.Canceled, fault.Unavailable, fault.ReasonServiceUnavailable},
			{errors.New("x"), fault.Internal, fault.ReasonInternal},
		} {
			got := fault.From(c.err)
			if got.Kind != c.kind || got.Reason != c.reason {
				t.Errorf("%v: got %+v", c.err, got)
			}
			if !errors.Is(got, c.err) {
				t.Errorf("%v: the cause is lost", c.err)
			}
		}
	})
	t.Run("nil stays nil", func(t *testing.T) {
		t.Parallel()
		if fault.From(nil) != nil || fault.Is(nil, fault.Internal) {
			t.Fatal("nil is a fault")
		}
	})
	t.Run("a nil fault returned as an error is internal", func(t *testing.T) {
		t.Parallel()
		var none *fault.Error
		if got := fault.Status(none); got.Code() != codes.Internal || fault.From(none).Kind != fault.Internal || none.Error() == "" {
			t.Fatalf("got %v", got)
		}
	})
	t.Run("details of another domain do not make a fault", func(t *testing.T) {
		t.Parallel()
		st, err := status.New(codes.NotFound, "x").WithDetails(&errdetails.ErrorInfo{Reason: "THEIRS", Domain: "example.org"})
		if err != nil {
			t.Fatal(err)
		}
		if got := fault.From(st.Err()); got.Kind != fault.Internal || got.Reason != fault.ReasonInternal {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestCopies(t *testing.T) {
	t.Parallel()
	base := fault.InvalidFields(fault.Field{Field: "email", Rule: "required", Message: "is required"}).With("a", "1")
	before := *base
	t.Run("no method changes the fault it is called on", func(t *testing.T) {
		t.Parallel()
		_ = base.With("b", "2")
		_ = base.Because(errors.New("x"))
		_ = base.After(time.Minute)
		_ = base.Rename(map[string]string{"email": "e_mail"})
		if !reflect.DeepEqual(*base, before) || len(base.Meta) != 1 || base.Fields[0].Field != "email" {
			t.Fatalf("got %+v", base)
		}
	})
	t.Run("renaming a field renames it in the message", func(t *testing.T) {
		t.Parallel()
		got := base.Rename(map[string]string{"email": "e_mail"})
		if got.Message != "e_mail is required" || got.Fields[0].Field != "e_mail" {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("errors.Is matches kind and reason, and finds the cause", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("cause")
		err := fmt.Errorf("x: %w", fault.Missing("customer").Because(cause))
		if !errors.Is(err, fault.Missing("anything")) || !errors.Is(err, cause) || errors.Is(err, fault.Refuse("NOT_FOUND", "")) {
			t.Fatal(err)
		}
	})
	t.Run("a missing scope is named", func(t *testing.T) {
		t.Parallel()
		got := fault.MissingScope("bookings:read")
		if got.Kind != fault.Forbidden || !strings.Contains(got.Message, "bookings:read") || got.Meta["scope"] != "bookings:read" {
			t.Fatalf("got %+v", got)
		}
	})
}

// FuzzStatus reads statuses that a hostile or newer peer could send.
func FuzzStatus(f *testing.F) {
	for _, err := range []error{
		fault.Missing("customer"), fault.InvalidFields(fault.Field{Field: "a", Rule: "b", Message: "c"}).After(time.Second),
		errors.New("x"), context.Canceled,
	} {
		raw, marshalErr := proto.Marshal(fault.Status(err).Proto())
		if marshalErr != nil {
			f.Fatal(marshalErr)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := status.New(codes.OK, "").Proto()
		if proto.Unmarshal(raw, p) != nil || p.GetCode() == 0 {
			return
		}
		got := fault.From(status.FromProto(p).Err())
		if got == nil || got.Reason == "" || got.RetryAfter < 0 {
			t.Fatalf("got %+v", got)
		}
		st := fault.Status(got)
		if st.Code() == codes.OK {
			t.Fatal("a failure became a success")
		}
		if again := fault.From(st.Err()); again.Kind != got.Kind || (got.Kind != fault.Internal && again.Reason != got.Reason) {
			t.Fatalf("%+v became %+v", got, again)
		}
	})
}
