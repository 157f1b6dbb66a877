package reservectl

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"reservation.dev/platform/csvfile"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func (a *app) appointmentTypeImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE", Short: "Import appointment types from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import appointment types from a CSV or NDJSON file. Import the staff and create the
rooms first.

Each appointment type has a reference: its key in the system that it comes from.
An appointment type whose reference exists stays unchanged, so you can run the
same command again after a failure. Refused lines are written to a report, and all
others are stored; the exit status is then 3. Correct the report and import it
like any other file. --dry-run checks the file and stores nothing.

Columns of CSV, or members of NDJSON objects. The names can also be in camelCase
or have underscores:

  reference      required; also accepted as id or appointment_type_id
  title          required
  lengths        required: minutes, separated by semicolons: 30;60
  description    optional
  location       optional
  timezone       IANA zone (default: the company's)
  buffer_before  minutes before an appointment that are also taken (default: 0)
  buffer_after   minutes after it (default: 0)
  slot_minutes   appointments start at multiples of this number (default: 15)
  minimum_notice_minutes     default: 0
  maximum_advance_days       default: 0, no limit
  free_cancellation_minutes  minutes before the start at which free cancellation
                 ends (default: free until the start)
  staff          names, references or staff_ identifiers, separated by semicolons
  rooms          rooms that each appointment uses, separated by semicolons. "|"
                 separates alternatives: Room 1|Room 2;Laser
  price          in pence or cents, tax included: one for all lengths (4000), or
                 one for each length (30:4000;60:7000)
  credits        credits that a pass pays, in the same form
  price_name     name of the price (default: Standard). The price of one length is
                 named after it, too: Standard, 30 minutes
  tax_rate_basis_points  tax rate, 2000 is 20 %
  currency       ISO 4217 (default: the company's)
  active         false for a type that cannot be booked (default: true)`,
		Example: `  reservectl appointment-type import --company comp_… types.csv
  reservectl appointment-type import --company comp_… types.csv --dry-run`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.importAppointmentTypes(c.Context(), args[0], o)
		},
	}
	importFlags(c, &o)
	checkFlag(c, &o)
	return c
}

func typeReference() []string { return []string{"reference", "id", "appointmenttypeid"} }

// appointmentTypeColumns are the columns of a CSV file of appointment types.
func appointmentTypeColumns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{typeReference(), {"title"}, {"lengths", "length", "lengthminutes"}},
		Optional: []string{
			"description", "location", "timezone", "bufferbefore", "bufferafter", "slotminutes", "minimumnoticeminutes", "maximumadvancedays",
			"freecancellationminutes", "staff", "rooms", "price", "credits", "pricename", "taxratebasispoints", "currency", "active",
		},
	}
}

// typeLine is an appointment type of a file. Its staff and rooms are not yet looked up.
type typeLine struct {
	*bookingv1.CreateAppointmentTypeRequest
	staff []string
	rooms [][]string // the alternatives of each requirement
}

func readAppointmentType(f *lineFields) typeLine {
	line := typeLine{CreateAppointmentTypeRequest: &bookingv1.CreateAppointmentTypeRequest{
		Reference: f.required(typeReference()...), Title: f.text("title"), Description: f.text("description"), Location: f.text("location"),
		Timezone: f.text("timezone"), BufferBeforeMinutes: f.small("buffer_before"), BufferAfterMinutes: f.small("buffer_after"),
		SlotMinutes: f.small("slot_minutes"), MinimumNoticeMinutes: f.small("minimum_notice_minutes"), MaximumAdvanceDays: f.small("maximum_advance_days"),
		Inactive: f.inactive(),
	}, staff: f.list("staff")}
	for _, text := range f.parts("lengths", "length", "length_minutes") {
		line.Lengths = append(line.Lengths, int32(f.number("lengths", text, math.MaxInt32)))
	}
	if free := f.integer("free_cancellation_minutes", math.MaxInt32); free != nil {
		minutes := int32(*free)
		line.FreeCancellationMinutes = &minutes
	}
	for _, requirement := range f.list("rooms") {
		var anyOf []string
		for room := range strings.SplitSeq(requirement, "|") {
			anyOf = append(anyOf, strings.TrimSpace(room))
		}
		line.rooms = append(line.rooms, anyOf)
	}
	line.Prices = readPrices(f)
	return line
}

// readPrices returns a price for all lengths, or one for each length that has a price or credits.
func readPrices(f *lineFields) []*bookingv1.NewAppointmentPrice {
	prices, credits := f.byLength("price", math.MaxInt64), f.byLength("credits", math.MaxInt32)
	lengths := map[int32]bool{}
	for length := range maps.Keys(prices) {
		lengths[length] = true
	}
	for length := range maps.Keys(credits) {
		lengths[length] = true
	}
	if len(lengths) > 1 {
		delete(lengths, 0) // it is for the lengths of the other column
	}
	var all []*bookingv1.NewAppointmentPrice
	for _, length := range slices.Sorted(maps.Keys(lengths)) {
		option := &bookingv1.NewPricingOption{
			Name: f.text("price_name"), Price: amountFor(prices, length), Currency: f.text("currency"), TaxRateBasisPoints: f.small("tax_rate_basis_points"),
		}
		if option.Name == "" {
			option.Name = "Standard"
		}
		if length > 0 { // names are unique
			option.Name = fmt.Sprintf("%s, %d minutes", option.Name, length)
		}
		if len(credits) > 0 {
			n := int32(amountFor(credits, length))
			option.Credits = &n
		}
		all = append(all, &bookingv1.NewAppointmentPrice{Option: option, LengthMinutes: length})
	}
	return all
}

// amountFor returns the amount for a length, or else that for all lengths.
func amountFor(amounts map[int32]int64, length int32) int64 {
	if n, ok := amounts[length]; ok {
		return n
	}
	return amounts[0]
}

// byLength returns the amounts of a column by length in minutes: "4000" is for all lengths, which 0 stands for,
// and "30:4000;60:7000" for two.
func (f *lineFields) byLength(name string, most int64) map[int32]int64 {
	amounts := map[int32]int64{}
	for _, part := range f.parts(name) {
		minutes, amount, found := strings.Cut(part, ":")
		length := int64(0)
		if found {
			length = f.number(name, minutes, math.MaxInt32)
		} else {
			amount = minutes
		}
		if _, twice := amounts[int32(length)]; twice {
			f.refuse(name, "unique", "has a length twice")
		}
		amounts[int32(length)] = f.number(name, amount, most)
	}
	if _, all := amounts[0]; all && len(amounts) > 1 {
		f.refuse(name, "format", "must be one number for all lengths, or one for each length: 30:4000;60:7000")
	}
	return amounts
}

// number returns a whole number from 0 to most.
func (f *lineFields) number(name, text string, most int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 || n > most {
		f.refuse(name, "type", fmt.Sprintf("must be whole numbers between 0 and %d, not %q", most, text))
		return 0
	}
	return n
}

func (a *app) importAppointmentTypes(ctx context.Context, path string, o importOptions) error {
	in, rep, err := a.openImport(path, o, appointmentTypeColumns())
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }()
	s, err := a.forCompany(a.bookings)(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	i := typeImporter{ctx: s.ctx, client: bookingv1.NewAppointmentTypeServiceClient(s.conn), dryRun: o.dryRun}
	if i.types, err = fetchAppointmentTypes(i.ctx, i.client); err != nil {
		return err
	}
	if _, i.staff, err = fetchStaff(i.ctx, bookingv1.NewStaffServiceClient(s.conn)); err != nil {
		return err
	}
	if i.rooms, err = fetchRooms(i.ctx, bookingv1.NewRoomServiceClient(s.conn)); err != nil {
		return err
	}
	sum, err := importAll(s.ctx, lineReader(in, typeReference(), readAppointmentType), itemByItem(i.store), rep, a.progress("appointment types", 0))
	return a.finishChecked("appointment types", sum, err, o)
}

// typeImporter stores the appointment types of a file.
type typeImporter struct {
	ctx                 context.Context
	client              bookingv1.AppointmentTypeServiceClient
	types, staff, rooms *resourceIndex
	dryRun              bool
}

func (i typeImporter) store(line typeLine) (done outcome, err error) {
	if i.types.byReference[line.GetReference()] != "" {
		return outcome{}, nil
	}
	if line.StaffIds, err = i.staff.findAll("staff", line.staff); err != nil {
		return outcome{}, err
	}
	for _, anyOf := range line.rooms {
		ids, err := i.rooms.findAll("rooms", anyOf)
		if err != nil {
			return outcome{}, err
		}
		line.Rooms = append(line.Rooms, &bookingv1.RoomRequirement{AnyOf: ids})
	}
	created := &bookingv1.AppointmentType{Id: line.GetReference(), Reference: line.GetReference(), Title: line.GetTitle()}
	if !i.dryRun {
		res, err := i.client.CreateAppointmentType(i.ctx, line.CreateAppointmentTypeRequest)
		if err != nil {
			return outcome{}, err
		}
		created = res.GetAppointmentType()
	}
	i.types.add(created.GetId(), line.GetReference(), created.GetTitle())
	return outcome{created: true}, nil
}
