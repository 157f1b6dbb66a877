package reservectl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/csvfile"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// checkFlag adds the flag --dry-run, which checks the lines of a file and stores nothing.
func checkFlag(c *cobra.Command, o *importOptions) {
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "check every line and report the refused ones, but store nothing; \"created\" then counts the lines that would be")
}

func (a *app) staffImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE", Short: "Import staff and their weekly hours from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import staff and their weekly hours from a CSV or NDJSON file.

Each person has a reference: the key in the system that the person comes from. A
person whose reference exists stays unchanged, so you can run the same command
again after a failure. Refused lines are written to a report, and all others are
stored; the exit status is then 3. Correct the report and import it like any
other file. --dry-run checks the file and stores nothing.

Columns of CSV, or members of NDJSON objects. The names can also be in camelCase
or have underscores:

  reference  required; also accepted as id or staff_id
  name       required
  email      optional
  photo_url  https address of a picture
  bio        optional
  color      # and six hexadecimal digits (default: one of twelve in turn)
  active     false for a person who gets no new appointments (default: true)
  hours      weekly hours in wall time: days and their times, separated by
             semicolons. Days are separated by commas or given as a range, and
             times are separated by commas:

               mon-thu 09:00-12:30,13:30-17:00; sat 10:00-14:00

             A time that ends at or before its start ends on the next day:
             "fri 22:00-02:00". NDJSON can also have an array of such texts.
  timezone   IANA zone of the hours (default: the company's)
  location   the hours are only for appointment types at this location (default:
             any location)`,
		Example: `  reservectl staff import --company comp_… staff.csv
  reservectl staff import --company comp_… staff.csv --dry-run`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.importStaff(c.Context(), args[0], o)
		},
	}
	importFlags(c, &o)
	checkFlag(c, &o)
	return c
}

func staffReference() []string { return []string{"reference", "id", "staffid"} }

// staffColumns are the columns of a CSV file of staff.
func staffColumns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{staffReference(), {"name"}},
		Optional: []string{"email", "photourl", "bio", "color", "active", "hours", "timezone", "location"},
	}
}

// staffLine is a person of a file, with the weekly shifts.
type staffLine struct {
	*bookingv1.CreateStaffMemberRequest
	weekly []*bookingv1.WeeklyHours
}

func readStaff(f *lineFields) staffLine {
	line := staffLine{CreateStaffMemberRequest: &bookingv1.CreateStaffMemberRequest{
		Reference: f.required(staffReference()...), Name: f.text("name"), Email: f.text("email"), PhotoUrl: f.text("photo_url"), Bio: f.text("bio"),
		Color: f.text("color"), Inactive: f.inactive(),
	}}
	var err error
	if line.weekly, err = weeklyHours(f.list("hours"), f.text("location"), f.text("timezone")); err != nil {
		f.refuseWith(err)
	}
	return line
}

func (a *app) importStaff(ctx context.Context, path string, o importOptions) error {
	in, rep, err := a.openImport(path, o, staffColumns())
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }()
	s, err := a.forCompany(a.bookings)(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	i := staffImporter{ctx: s.ctx, client: bookingv1.NewStaffServiceClient(s.conn), dryRun: o.dryRun}
	if i.known, _, err = fetchStaff(i.ctx, i.client); err != nil {
		return err
	}
	sum, err := importAll(s.ctx, lineReader(in, staffReference(), readStaff), itemByItem(i.store), rep, a.progress("staff members", 0))
	return a.finishChecked("staff members", sum, err, o)
}

// staffImporter stores the staff of a file.
type staffImporter struct {
	ctx    context.Context
	client bookingv1.StaffServiceClient
	known  map[string]*bookingv1.StaffMember // by reference
	dryRun bool
}

// store creates a person with the hours. If an earlier run stopped between the two, it sets the hours.
func (i staffImporter) store(line staffLine) (done outcome, err error) {
	m := i.known[line.GetReference()]
	if m == nil {
		done.created = true
		m = &bookingv1.StaffMember{Reference: line.GetReference(), Version: 1}
		if !i.dryRun {
			res, err := i.client.CreateStaffMember(i.ctx, line.CreateStaffMemberRequest)
			if err != nil {
				return outcome{}, err
			}
			m = res.GetStaffMember()
		}
		i.known[line.GetReference()] = m
	}
	// Every change increases the version, so this person has no hours yet.
	if m.GetVersion() != 1 || len(line.weekly) == 0 || i.dryRun {
		return done, nil
	}
	res, err := i.client.SetWorkingHours(i.ctx, &bookingv1.SetWorkingHoursRequest{
		StaffId: m.GetId(), Weekly: line.weekly, ExpectedVersion: proto.Int64(m.GetVersion()),
	})
	if err != nil {
		return outcome{}, hoursError(err)
	}
	m.Version = res.GetHours().GetVersion()
	return done, nil
}

// hoursError returns err with the column of the file instead of fields such as weekly[0].range.starts.
func hoursError(err error) error {
	refused, other := refusedBy(err)
	if refused == nil {
		return other
	}
	if refused.field != "line" {
		refused.message = fmt.Sprintf("%s %s", refused.field, refused.message)
	}
	return refusal{"hours", refused.rule, refused.message}
}
