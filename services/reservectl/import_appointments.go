package reservectl

import (
	"context"
	"math"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/customerfile"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// appointmentBatch is the number of appointments that ImportAppointments takes.
const appointmentBatch = 100

func (a *app) appointmentImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE", Short: "Import appointments from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import the appointments of an earlier system, past or to come, from a CSV or NDJSON
file. Import the customers, the staff and the appointment types first.

Each appointment has a reference: its key in the system that it comes from. An
appointment whose reference was imported before stays unchanged, so you can run
the same command again after a failure. Refused lines are written to a report,
and all others are stored; the exit status is then 3. Correct the report and
import it like any other file. Imports send no webhooks.

Working hours, notice and horizon do not apply, and imported appointments have no
buffers. An appointment that has not ended takes the time of its staff member and
rooms. It is refused if they are taken.

--dry-run checks the lines, and that customers, types, staff and rooms exist. It
stores nothing, and does not check whether staff and rooms are free.

Columns of CSV, or members of NDJSON objects. The names can also be in camelCase
or have underscores:

  reference         required; also accepted as id or appointment_id
  customer          required: a cust_ identifier or the reference of an imported
                    customer
  appointment_type  required: a title, a reference or an apt_ identifier; also
                    accepted as type
  staff             required: a name, a reference or a staff_ identifier
  starts_at         required: 2026-03-29T09:30:00 in timezone, or with an offset
  length            required: minutes, 5 to 1440
  timezone          IANA zone of times without an offset (default: the company's)
  rooms             names, references or room_ identifiers, separated by
                    semicolons (default: free rooms of the type)
  bought_for        the customer who attends, if it is not the one who paid
  is_cancelled, is_refunded  true or false (default: false)
  purchased_at      when it was booked (default: now)
  method            CARD, CASH, PASS or another payment method; without one,
                    nothing was paid
  gross, net        in pence or cents (net: default gross)
  currency          ISO 4217 (default: the company's)
  payment_reference  optional
  credits_used, customer_pass_id  of a payment by PASS`,
		Example: `  reservectl appointment import --company comp_… appointments.csv
  reservectl appointment import --company comp_… appointments.csv --dry-run`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.importAppointments(c.Context(), args[0], o)
		},
	}
	importFlags(c, &o)
	checkFlag(c, &o)
	return c
}

func appointmentReference() []string { return []string{"reference", "id", "appointmentid"} }

// appointmentColumns are the columns of a CSV file of appointments.
func appointmentColumns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{
			appointmentReference(), customerColumn(), {"appointmenttype", "type", "appointmenttypeid"}, {"staff", "staffid"},
			{"startsat", "start", "datetime"}, {"length", "lengthminutes", "duration"},
		},
		Optional: []string{
			"timezone", "tz", "rooms", "room", "boughtfor", "boughtforid", "iscancelled", "isrefunded", "purchasedat", "purchasedate",
			"method", "paymentmethod", "gross", "net", "currency", "paymentreference", "creditsused", "customerpassid",
		},
	}
}

// appointmentLine is an appointment of a file. Its type, staff member and rooms are not yet looked up.
type appointmentLine struct {
	*bookingv1.ImportedAppointment
}

// appointmentReader reads lines. Times without an offset and without a zone are in local.
func appointmentReader(local *time.Location) func(f *lineFields) appointmentLine {
	return func(f *lineFields) appointmentLine {
		out := &bookingv1.ImportedAppointment{
			Reference: f.required(appointmentReference()...), Customer: f.required(customerColumn()...),
			AppointmentType: f.required("appointment_type", "type", "appointment_type_id"), Staff: f.required("staff", "staff_id"), Rooms: f.list("rooms", "room"), BoughtFor: f.text("bought_for", "bought_for_id"),
			IsCancelled: f.boolean("is_cancelled"), IsRefunded: f.boolean("is_refunded"),
			LengthMinutes: f.minutes("length", "length_minutes", "duration"),
		}
		f.shortReference("customer", out.GetCustomer())
		f.shortReference("bought_for", out.GetBoughtFor())
		at := f.zone(local, "timezone", "tz")
		out.StartsAt = f.moment(at, "starts_at", "start", "datetime")
		if f.value([]string{"purchased_at", "purchase_date"}) != nil {
			out.PurchasedAt = f.moment(at, "purchased_at", "purchase_date")
		}
		f.setPayment(out)
		return appointmentLine{out}
	}
}

// zone returns the location that the line names, or else local.
func (f *lineFields) zone(local *time.Location, names ...string) *time.Location {
	name := f.text(names...)
	if name == "" {
		return local
	}
	loc, err := zone.Load(name)
	if err != nil {
		f.refuse(names[0], "timezone", "must be an IANA time zone"+zoneHint(name))
		return local
	}
	return loc
}

// moment returns a time, which is required.
func (f *lineFields) moment(local *time.Location, names ...string) *timestamppb.Timestamp {
	at, err := customerfile.Moment(f.text(names...), local)
	if err != nil {
		f.refuse(names[0], "format", err.Error())
	}
	return timestamppb.New(at)
}

// minutes returns the first of the named fields that has a value, as a number.
func (f *lineFields) minutes(names ...string) int32 {
	for _, name := range names {
		if n := f.integer(name, math.MaxInt32); n != nil {
			return int32(*n)
		}
	}
	return 0
}

// setPayment reads the payment, in the form of imported purchases.
func (f *lineFields) setPayment(out *bookingv1.ImportedAppointment) {
	p := paymentLine{
		Method: f.text("method", "payment_method"), Currency: f.text("currency"), Reference: f.text("payment_reference"), Net: f.integer("net", math.MaxInt64),
		CreditsUsed: f.small("credits_used"), CustomerPassID: f.text("customer_pass_id"),
	}
	if gross := f.integer("gross", math.MaxInt64); gross != nil {
		p.Gross = *gross
	}
	if p == (paymentLine{}) {
		return
	}
	var paid bookingv1.ImportedBooking
	if p.Method == "" {
		f.refuse("method", "required", "is required for a payment")
		return
	}
	if err := p.set(&paid); err != nil {
		f.refuseWith(err)
		return
	}
	if pass := paid.GetPass(); pass != nil {
		out.Payment = &bookingv1.ImportedAppointment_Pass{Pass: pass}
		return
	}
	out.Payment = &bookingv1.ImportedAppointment_Card{Card: paid.GetCard()}
}

func (a *app) importAppointments(ctx context.Context, path string, o importOptions) error {
	in, rep, err := a.openImport(path, o, appointmentColumns())
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }()
	s, err := a.forCompany(a.bookings)(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	local, err := a.companyZone(ctx)
	if err != nil {
		return err
	}
	i := appointmentImporter{ctx: s.ctx, client: bookingv1.NewAppointmentServiceClient(s.conn)}
	if i.types, err = fetchAppointmentTypes(i.ctx, bookingv1.NewAppointmentTypeServiceClient(s.conn)); err != nil {
		return err
	}
	if _, i.staff, err = fetchStaff(i.ctx, bookingv1.NewStaffServiceClient(s.conn)); err != nil {
		return err
	}
	if i.rooms, err = fetchRooms(i.ctx, bookingv1.NewRoomServiceClient(s.conn)); err != nil {
		return err
	}
	if o.dryRun {
		customers, err := a.customers(ctx)
		if err != nil {
			return err
		}
		defer customers.close()
		i.checkCtx, i.check = customers.ctx, customerv1.NewCustomerServiceClient(customers.conn)
	}
	next := lineReader(in, appointmentReference(), appointmentReader(local))
	sum, err := importAll(s.ctx, next, unaryExchange(appointmentBatch, i.store), rep, a.progress("appointments", 0))
	return a.finishChecked("appointments", sum, err, o)
}

// appointmentImporter stores the appointments of a file.
type appointmentImporter struct {
	ctx                 context.Context
	client              bookingv1.AppointmentServiceClient
	types, staff, rooms *resourceIndex
	// check is set for a dry run: it looks up the customers, and nothing is stored.
	checkCtx context.Context
	check    customerv1.CustomerServiceClient
}

// store stores a batch. Lines whose type, staff member or rooms do not exist are refused and not sent.
func (i appointmentImporter) store(batch []appointmentLine) ([]outcome, error) {
	outcomes := make([]outcome, len(batch))
	req := &bookingv1.ImportAppointmentsRequest{}
	var sent []int // positions in the batch
	for n, line := range batch {
		if err := i.lookUp(line); err != nil {
			if outcomes[n].refused, err = refusedBy(err); err != nil {
				return nil, err
			}
			continue
		}
		req.Appointments, sent = append(req.Appointments, line.ImportedAppointment), append(sent, n)
	}
	if len(sent) == 0 {
		return outcomes, nil
	}
	results, err := i.send(req)
	if err != nil {
		return nil, err
	}
	if len(results) != len(sent) {
		return nil, resultsError(len(results), len(sent))
	}
	for m, result := range results {
		outcomes[sent[m]] = result
	}
	return outcomes, nil
}

// send stores appointments. In a dry run, it only looks up their customers.
func (i appointmentImporter) send(req *bookingv1.ImportAppointmentsRequest) ([]outcome, error) {
	if i.check != nil {
		return i.checkCustomers(req.GetAppointments())
	}
	res, err := i.client.ImportAppointments(i.ctx, req)
	return outcomesOf(res.GetResults()), err
}

// checkCustomers refuses lines with references that no customer has. It does not look up identifiers.
func (i appointmentImporter) checkCustomers(lines []*bookingv1.ImportedAppointment) ([]outcome, error) {
	var references []string
	for _, line := range lines {
		references = append(references, line.GetCustomer(), line.GetBoughtFor())
	}
	found, err := customersByReference(i.checkCtx, i.check, references)
	if err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(lines))
	for n, line := range lines {
		outcomes[n].created = true
		for _, c := range []struct{ column, named string }{{"customer", line.GetCustomer()}, {"bought_for", line.GetBoughtFor()}} {
			if c.named != "" && !isCustomerID(c.named) && found[c.named] == "" {
				outcomes[n] = outcome{refused: &refusal{c.column, "exists", "does not exist"}}
			}
		}
	}
	return outcomes, nil
}

// lookUp replaces the names of the type, the staff member and the rooms by identifiers.
func (i appointmentImporter) lookUp(line appointmentLine) (err error) {
	if line.AppointmentType, err = i.types.find("appointment_type", line.GetAppointmentType()); err != nil {
		return err
	}
	if line.Staff, err = i.staff.find("staff", line.GetStaff()); err != nil {
		return err
	}
	line.Rooms, err = i.rooms.findAll("rooms", line.GetRooms())
	return err
}
