package booking

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// importBatches imports batches in one stream and returns the outcome of each line: "created", "existed", or
// "refused" with the field and the rule.
func (w *world) importBatches(dryRun bool, batches ...[]*bookingv1.ImportedTransaction) (outcomes []string) {
	w.t.Helper()
	stream, err := w.bookings.ImportTransactions(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, batch := range batches {
		if err := stream.Send(&bookingv1.ImportTransactionsRequest{Transactions: batch, DryRun: dryRun}); err != nil {
			w.t.Fatal(err)
		}
		res, err := stream.Recv()
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range res.GetResults() {
			name := strings.ToLower(strings.TrimPrefix(r.GetOutcome().String(), "IMPORT_OUTCOME_"))
			outcomes = append(outcomes, strings.TrimSpace(fmt.Sprint(r.GetReference(), " ", name, " ", r.GetField(), " ", r.GetRule())))
			if dryRun && name == "created" && r.GetId() != "" {
				w.t.Errorf("%s has the identifier %s, but was not stored", r.GetReference(), r.GetId())
			}
		}
	}
	return outcomes
}

// rows counts what an import can add.
func (w *world) rows() string {
	w.t.Helper()
	return one[string](w, `select concat_ws(' ', (select count(*) from events), (select count(*) from event_dates), (select sum(booked) from event_dates),
		(select count(*) from pricing_options), (select count(*) from transactions), (select count(*) from bookings), (select count(*) from outbox))`)
}

func TestImportRehearsal(t *testing.T) {
	t.Parallel()
	t.Run("decides each line as the import does, over several batches, and changes nothing", func(t *testing.T) {
		w := newWorld(t)
		ann, _ := studioOf(w)
		live := w.event(w.ctx, new(int32(3)))
		w.mustBook(w.ctx, ann, live, 1)
		w.mustSend(past("known", "ann", "yoga", 1))
		onLive := func(reference string, spaces int32) *bookingv1.ImportedTransaction {
			line := past(reference, "ann", "", spaces)
			line.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: live.GetDates()[0].GetId()}
			line.Bookings[0].PricingOptionId = live.GetPricingOptions()[0].GetId()
			return line
		}
		batches := [][]*bookingv1.ImportedTransaction{
			{past("known", "ann", "yoga", 1), past("a", "ann", "yoga", 3), onLive("b", 1), past("c", "nobody", "yoga", 1), past("d", "ben", "run", 2)},
			{past("a", "ann", "yoga", 1), past("e", "ann", "yoga", 2), past("f", "ann", "yoga", 1), onLive("g", 1), onLive("h", 1)},
			{past("d", "ben", "run", 1), past("i", "ben", "run", 4), past("j", "ben", "run", 3), past("", "ben", "run", 1), past("j", "ben", "run", 1)},
		}
		before := w.rows()
		foreseen := w.importBatches(true, batches...)
		if after := w.rows(); after != before {
			t.Errorf("the dry run changed the rows from %s to %s", before, after)
		}
		done := w.importBatches(false, batches...)
		if diff := cmp.Diff(done, foreseen); diff != "" {
			t.Errorf("-import +dry run:\n%s", diff)
		}
		want := []string{
			"known existed", "a created", "b created", "c refused customer exists", "d created",
			"a existed", "e refused bookings[0].spaces EVENT_FULL", "f created", "g created", "h refused bookings[0].spaces EVENT_FULL",
			"d existed", "i refused bookings[0].spaces EVENT_FULL", "j created", "refused reference required", "j existed",
		}
		if diff := cmp.Diff(want, done); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		w.inStep()
	})
	t.Run("refuses more transactions than a stream can have", func(t *testing.T) {
		w := newWorld(t)
		b, err := newImportBatch(t.Context(), tenancy.Company{ID: w.company}, []*bookingv1.ImportedTransaction{past("a", "ann", "yoga", 1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.server.rehearseBatch(t.Context(), b, &model.ImportRehearsal{Lines: maxRehearsed}); !fault.Is(err, fault.TooLarge) {
			t.Errorf("got %v", err)
		}
	})
}

func TestImportOfExistingDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, _ := studioOf(w)
	e := w.event(w.ctx, new(int32(50)))
	date, option := e.GetDates()[0], e.GetPricingOptions()[0]
	elsewhere := id.New[id.EventDate]().String()
	line := func(reference string, d *bookingv1.ExistingDate, change func(*bookingv1.ImportedBooking)) *bookingv1.ImportedTransaction {
		l := past(reference, "ann", "", 1)
		l.Bookings[0].Date = &bookingv1.ImportedBooking_ExistingDate{ExistingDate: d}
		if change != nil {
			change(l.Bookings[0])
		}
		return l
	}
	named := &bookingv1.ExistingDate{Title: strings.ToUpper(e.GetTitle()), StartsAt: date.GetStartsAt()}
	tests := []struct {
		behaviour string
		date      *bookingv1.ExistingDate
		change    func(*bookingv1.ImportedBooking)
		want      string
	}{
		{"by its identifier", &bookingv1.ExistingDate{EventDateId: date.GetId()}, nil, "created"},
		{"by title and start", named, nil, "created"},
		{"by title and start if the identifier is of another company",
			&bookingv1.ExistingDate{EventDateId: elsewhere, Title: e.GetTitle(), StartsAt: date.GetStartsAt()}, nil, "created"},
		{"with the only option on sale if the identifier of the option is of another company", named,
			func(b *bookingv1.ImportedBooking) { b.PricingOptionId = id.New[id.PricingOption]().String() }, "created"},
		{"with the name of an option", named, func(b *bookingv1.ImportedBooking) { b.PricingOptionName = option.GetName() }, "created"},
		{"not with the name of an option that does not exist", named, func(b *bookingv1.ImportedBooking) { b.PricingOptionName = "Imported" },
			"refused bookings[0].pricing_option_name exists"},
		{"not of another title", &bookingv1.ExistingDate{Title: "Other", StartsAt: date.GetStartsAt()}, nil, "refused bookings[0].existing_date exists"},
		{"not at another time", &bookingv1.ExistingDate{Title: e.GetTitle(), StartsAt: timestamppb.New(date.GetStartsAt().AsTime().Add(60e9))}, nil,
			"refused bookings[0].existing_date exists"},
		{"not by an unknown identifier alone", &bookingv1.ExistingDate{EventDateId: elsewhere}, nil, "refused bookings[0].event_date_id exists"},
		{"not without names", &bookingv1.ExistingDate{}, nil, "refused bookings[0].existing_date.title required"},
		{"not without a start", &bookingv1.ExistingDate{Title: e.GetTitle()}, nil, "refused bookings[0].existing_date.starts_at required"},
	}
	for i, tt := range tests {
		t.Run("finds a date "+tt.behaviour, func(t *testing.T) {
			reference := fmt.Sprint("d", i)
			before := one[string](w, `select concat_ws(' ', (select count(*) from events), (select count(*) from event_dates), (select count(*) from pricing_options))`)
			if got := w.importBatches(false, []*bookingv1.ImportedTransaction{line(reference, tt.date, tt.change)})[0]; got != reference+" "+tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if after := one[string](w, `select concat_ws(' ', (select count(*) from events), (select count(*) from event_dates), (select count(*) from pricing_options))`); after != before {
				t.Errorf("the import created events, dates or options: %s, before %s", after, before)
			}
		})
	}
	t.Run("does not choose between two events with the same title and start", func(t *testing.T) {
		twin := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: e.GetTitle(), Dates: []*bookingv1.NewEventDate{{StartsAt: date.GetStartsAt(), DurationMinutes: 60}},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200}},
		})
		both := &bookingv1.ExistingDate{Title: twin.GetTitle(), StartsAt: twin.GetDates()[0].GetStartsAt()}
		if got := w.importBatches(true, []*bookingv1.ImportedTransaction{line("twin", both, nil)})[0]; got != "twin refused bookings[0].existing_date unique" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("takes the identifier of a transaction as its reference, so that an exported file can be imported again", func(t *testing.T) {
		stored := w.mustBook(w.ctx, ann, e, 1).GetId()
		if got := w.importBatches(false, []*bookingv1.ImportedTransaction{line(stored, named, nil)})[0]; got != stored+" existed" {
			t.Errorf("got %s", got)
		}
	})
	w.inStep()
}
