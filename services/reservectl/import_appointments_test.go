package reservectl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// refusedLines checks that the report of an import has all the texts.
func refusedLines(t *testing.T, path string, want ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range want {
		if !strings.Contains(string(text), line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

func shift(weekday int32, starts, ends string) *bookingv1.WeeklyHours {
	return &bookingv1.WeeklyHours{Weekday: weekday, Range: &bookingv1.HoursRange{Starts: starts, Ends: ends}}
}

func TestWeeklyHours(t *testing.T) {
	for text, want := range map[string][]*bookingv1.WeeklyHours{
		"":                               nil,
		"mon 9:00-12:30,13:30 - 17:00":   {shift(1, "09:00", "12:30"), shift(1, "13:30", "17:00")},
		"Mon-Wed 09:00–17:00":            {shift(1, "09:00", "17:00"), shift(2, "09:00", "17:00"), shift(3, "09:00", "17:00")},
		"saturday - mon, we 22:00-02:00": {shift(6, "22:00", "02:00"), shift(7, "22:00", "02:00"), shift(1, "22:00", "02:00"), shift(3, "22:00", "02:00")},
		"fri 18:00-24:00;sun 00:00-9:15": {shift(5, "18:00", "24:00"), shift(7, "00:00", "09:15")},
	} {
		t.Run("reads "+text, func(t *testing.T) {
			var parts []string
			for part := range strings.SplitSeq(text, ";") {
				if part != "" {
					parts = append(parts, part)
				}
			}
			got, err := weeklyHours(parts, "", "")
			if err != nil || !slices.EqualFunc(got, want, func(a, b *bookingv1.WeeklyHours) bool { return proto.Equal(a, b) }) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	for _, text := range []string{"mon", "09:00-17:00", "m 09:00-17:00", "mon 09-17", "mon 09:00", "mon 25:00-26:00", "mon 24:00-25:00", "mon-noday 09:00-10:00", "mon 09:00-10:00,", "mon tue 09:00-10:00"} {
		t.Run("refuses "+text, func(t *testing.T) {
			if got, err := weeklyHours([]string{text}, "", ""); err == nil || !strings.Contains(err.Error(), "hours") {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestStaffImport(t *testing.T) {
	w := newWorld(t)
	t.Run("CSV and NDJSON import the same person", func(t *testing.T) {
		csv := w.write(t, "a.csv", "Reference,name,email,color,active,hours,timezone,location\nS-1,Ada,ada@x,#112233,no,,,\n")
		if r := run(t, "", "staff", "import", csv); r.code != 3 { // no is not true or false
			t.Fatalf("got %+v", r)
		}
		csv = w.write(t, "a.csv", "Reference,name,email,color,active,hours,timezone,location\nS-1,Ada,ada@x,#112233,false,mon 09:00-12:00;tue 9:00-12:00,Europe/London,North\n")
		ndjson := w.write(t, "a.ndjson", `{"id":"S-2","name":"Ada","email":"ada@x","color":"#112233","active":false,"hours":["mon 09:00-12:00","tue 9:00-12:00"],"timezone":"Europe/London","location":"North"}`)
		ok(t, "staff", "import", csv)
		ok(t, "staff", "import", ndjson)
		for i, reference := range []string{"S-1", "S-2"} {
			want := &bookingv1.StaffMember{Id: fmt.Sprintf("staff_%d", i+1), Name: "Ada", Email: "ada@x", Color: "#112233", Reference: reference, Version: 2}
			if !proto.Equal(w.salon.staff[i], want) {
				t.Errorf("created %v", w.salon.staff[i])
			}
			hours := w.salon.hours[reference]
			if len(hours.GetWeekly()) != 2 || hours.GetExpectedVersion() != 1 || hours.GetWeekly()[1].GetRange().GetLocation() != "North" || hours.GetWeekly()[1].GetRange().GetTimezone() != "Europe/London" {
				t.Errorf("the hours %v", hours)
			}
		}
	})
	t.Run("a person whose reference exists stays unchanged, and wrong lines are refused", func(t *testing.T) {
		path := w.write(t, "b.csv", "reference,name,color,hours,timezone\nS-1,Other,,mon 01:00-02:00,\nS-3,Bo,,,\n,Cy,,,\nS-4,Di,red,,\nS-5,Ed,,monday nine,\nS-6,Fi,,mon 09:00-10:00,Nowhere/City\n")
		r := run(t, "", "staff", "import", path)
		report := filepath.Join(w.dir, "b.refused.csv")
		if sum := summed(t, r); r.code != 3 || sum != (counts{Read: 6, Created: 1, Existed: 1, Refused: 4, Report: report}) {
			t.Fatalf("got %+v", r)
		}
		refusedLines(t, report, ",reference,reference is required", "S-4,color,color must be", "S-5,hours,\"hours must be like", "S-6,hours,hours weekly[0].range.timezone must be an IANA time zone")
		if w.salon.staff[0].GetName() != "Ada" || len(w.salon.hours["S-1"].GetWeekly()) != 2 || w.salon.staff[2].GetReference() != "S-3" || !w.salon.staff[2].GetActive() {
			t.Errorf("the staff are %v", w.salon.staff)
		}
	})
	t.Run("a repeated import sets hours that an interrupted one has not set", func(t *testing.T) {
		path := w.write(t, "c.csv", "reference,name,hours\nS-7,Gil,mon 09:00-10:00\n")
		w.salon.failAt = "S-7"
		if r := run(t, "", "staff", "import", path); r.code != 1 || w.salon.hours["S-7"] != nil {
			t.Fatalf("got %+v", r)
		}
		w.salon.failAt = ""
		if sum := summed(t, run(t, "", "staff", "import", path)); sum.Existed != 1 || len(w.salon.hours["S-7"].GetWeekly()) != 1 {
			t.Errorf("got %+v, %v", sum, w.salon.hours["S-7"])
		}
	})
	t.Run("a dry run reports refused lines and stores nothing", func(t *testing.T) {
		before := len(w.salon.staff)
		path := w.write(t, "d.csv", "reference,name,hours\nS-8,Hal,mon 09:00-10:00\nS-8,Hal again,\nS-1,Ada,\nS-9,Ida,never\n")
		r := run(t, "", "staff", "import", path, "--dry-run")
		if sum := summed(t, r); r.code != 3 || sum.Created != 1 || sum.Existed != 2 || sum.Refused != 1 || !strings.Contains(r.errOut, "nothing was stored") {
			t.Fatalf("got %+v", r)
		}
		if len(w.salon.staff) != before || w.salon.hours["S-8"] != nil {
			t.Errorf("the staff are %v", w.salon.staff)
		}
	})
}

func TestAppointmentTypeImport(t *testing.T) {
	w := newWorld(t)
	w.salon.staff = []*bookingv1.StaffMember{{Id: "staff_1", Name: "Ada", Reference: "S-1"}, {Id: "staff_2", Name: "Bo"}, {Id: "staff_3", Name: "Cy"}, {Id: "staff_4", Name: "Cy"}}
	w.salon.rooms = []*bookingv1.Room{{Id: "room_1", Name: "Room 1"}, {Id: "room_2", Name: "Room 2"}, {Id: "room_3", Name: "Laser", Reference: "L"}}
	t.Run("CSV and NDJSON import the same appointment type", func(t *testing.T) {
		csv := w.write(t, "a.csv", "reference,title,lengths,location,timezone,buffer_before,buffer_after,slot minutes,minimumNoticeMinutes,maximum_advance_days,free_cancellation_minutes,staff,rooms,price,credits,price_name,tax_rate_basis_points\n"+
			"T-1,Massage,30; 60,North,Europe/London,5,10,30,60,90,1440,S-1;Bo,Room 1 | Room 2;L,30:4000;60:7000,1,Adult,2000\n")
		ndjson := w.write(t, "a.ndjson", `{"id":"T-2","title":"Massage","lengths":[30,"60"],"location":"North","timezone":"Europe/London","buffer_before":5,"buffer_after":10,"slotMinutes":30,`+
			`"minimum_notice_minutes":60,"maximum_advance_days":90,"free_cancellation_minutes":1440,"staff":["staff_1","staff_2"],"rooms":["room_1|room_2","Laser"],"price":["30:4000","60:7000"],"credits":1,"price_name":"Adult","tax_rate_basis_points":2000}`)
		ok(t, "appointment-type", "import", csv)
		ok(t, "appointment-type", "import", ndjson)
		price := func(length int32, price int64) *bookingv1.NewAppointmentPrice {
			return &bookingv1.NewAppointmentPrice{Option: &bookingv1.NewPricingOption{Name: fmt.Sprintf("Adult, %d minutes", length), Price: price, Credits: proto.Int32(1), TaxRateBasisPoints: 2000}, LengthMinutes: length}
		}
		want := &bookingv1.CreateAppointmentTypeRequest{
			Title: "Massage", Lengths: []int32{30, 60}, Location: "North", Timezone: "Europe/London", BufferBeforeMinutes: 5, BufferAfterMinutes: 10, SlotMinutes: 30,
			MinimumNoticeMinutes: 60, MaximumAdvanceDays: 90, FreeCancellationMinutes: proto.Int32(1440), StaffIds: []string{"staff_1", "staff_2"},
			Rooms:  []*bookingv1.RoomRequirement{{AnyOf: []string{"room_1", "room_2"}}, {AnyOf: []string{"room_3"}}},
			Prices: []*bookingv1.NewAppointmentPrice{price(30, 4000), price(60, 7000)},
		}
		for i, reference := range []string{"T-1", "T-2"} {
			if want.Reference = reference; !proto.Equal(w.salon.created[i], want) {
				t.Errorf("created %v", w.salon.created[i])
			}
		}
	})
	t.Run("one price is for all lengths, and an appointment without a price is free", func(t *testing.T) {
		path := w.write(t, "p.csv", "reference,title,lengths,price,credits,active\nP-1,One,30;60,4000,,\nP-2,Free,30,,,false\nP-3,Both,30;60,4000,30:1;60:2,\n")
		ok(t, "appointment-type", "import", path)
		one, free, both := w.salon.created[2], w.salon.created[3], w.salon.created[4]
		if len(one.GetPrices()) != 1 || one.GetPrices()[0].GetLengthMinutes() != 0 || one.GetPrices()[0].GetOption().Credits != nil || one.GetPrices()[0].GetOption().GetName() != "Standard" || one.GetInactive() {
			t.Errorf("created %v", one)
		}
		if len(free.GetPrices()) != 0 || !free.GetInactive() {
			t.Errorf("created %v", free)
		}
		if p := both.GetPrices(); len(p) != 2 || p[1].GetOption().GetPrice() != 4000 || p[1].GetOption().GetCredits() != 2 || p[1].GetLengthMinutes() != 60 {
			t.Errorf("created %v", both)
		}
	})
	t.Run("existing types stay, and wrong lines are refused", func(t *testing.T) {
		path := w.write(t, "b.csv", "reference,title,lengths,staff,rooms,price\nT-1,Other,30,,,\nR-1,A,30,Dee,,\nR-2,A,30,Cy,,\nR-3,A,30,,Room 1;Room 9,\nR-4,A,x,,,\nR-5,A,30,,,30:1;30:2\nR-6,A,30,,,5;30:2\nR-7,A,1,,,\n,A,30,,,\n")
		r := run(t, "", "appointment-type", "import", path)
		report := filepath.Join(w.dir, "b.refused.csv")
		if sum := summed(t, r); r.code != 3 || sum != (counts{Read: 9, Existed: 1, Refused: 8, Report: report}) {
			t.Fatalf("got %+v", r)
		}
		refusedLines(t, report, `R-1,staff,"staff ""Dee"" does not exist"`, `"staff ""Cy"" is the name of 2: give the reference or the identifier"`, `R-3,rooms,"rooms ""Room 9"" does not exist"`,
			"R-4,lengths,", "R-5,price,price has a length twice", "R-6,price,\"price must be one number for all lengths", "R-7,lengths[0],lengths[0] must be from 5", ",reference,reference is required")
	})
	t.Run("a dry run stores nothing", func(t *testing.T) {
		before := len(w.salon.types)
		path := w.write(t, "d.csv", "reference,title,lengths,staff\nN-1,A,30,Ada\nN-2,A,30,Dee\n")
		r := run(t, "", "appointment-type", "import", path, "--dry-run")
		if sum := summed(t, r); r.code != 3 || sum.Created != 1 || sum.Refused != 1 || len(w.salon.types) != before {
			t.Errorf("got %+v, and %d types", r, len(w.salon.types))
		}
	})
}

func TestAppointmentImport(t *testing.T) {
	w := newWorld(t)
	w.salon.staff = []*bookingv1.StaffMember{{Id: "staff_1", Name: "Ada", Reference: "S-1"}}
	w.salon.rooms = []*bookingv1.Room{{Id: "room_1", Name: "Room 1"}}
	w.salon.types = []*bookingv1.AppointmentType{{Id: "apt_1", Title: "Massage", Reference: "T-1"}}
	w.customers["C-1"] = &customerv1.ImportedCustomer{Reference: "C-1"}
	t.Run("CSV and NDJSON import the same appointment, in the company's zone", func(t *testing.T) {
		csv := w.write(t, "a.csv", "reference,customer,type,staff,starts_at,length,rooms,bought_for,is_cancelled,is_refunded,purchased_at,method,gross,net,currency,payment_reference\n"+
			"A-1,C-1,Massage,Ada,2026-07-01 09:30,60,Room 1,C-2,true,TRUE,2026-06-01,CARD,7000,5833,GBP,pay_1\n")
		ndjson := w.write(t, "a.ndjson", `{"id":"A-2","customerId":"C-1","appointment_type":"T-1","staffId":"S-1","startsAt":"2026-07-01T08:30:00Z","lengthMinutes":60,"rooms":["room_1"],"boughtFor":"C-2",`+
			`"isCancelled":true,"isRefunded":true,"purchasedAt":"2026-05-31T23:00:00Z","method":"card","gross":7000,"net":5833,"currency":"GBP","paymentReference":"pay_1"}`)
		ok(t, "appointment", "import", csv)
		ok(t, "appointment", "import", ndjson)
		want := &bookingv1.ImportedAppointment{
			Customer: "C-1", AppointmentType: "apt_1", Staff: "staff_1", Rooms: []string{"room_1"}, StartsAt: at("2026-07-01T08:30:00Z"), LengthMinutes: 60, BoughtFor: "C-2",
			IsCancelled: true, IsRefunded: true, PurchasedAt: at("2026-05-31T23:00:00Z"), Payment: &bookingv1.ImportedAppointment_Card{Card: &bookingv1.CardPayment{
				Currency: "GBP", Gross: 7000, Net: 5833, Reference: "pay_1", Method: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD,
			}},
		}
		for _, reference := range []string{"A-1", "A-2"} {
			if want.Reference = reference; !proto.Equal(w.salon.imported[reference], want) {
				t.Errorf("imported %v", w.salon.imported[reference])
			}
		}
	})
	t.Run("a payment is by pass, or there is none", func(t *testing.T) {
		path := w.write(t, "p.csv", "reference,customer,type,staff,start,duration,tz,method,credits_used,customer_pass_id\n"+
			"P-1,C-1,Massage,Ada,2026-07-01T09:30,30,America/New_York,PASS,2,cp_1\nP-2,C-1,Massage,Ada,2026-07-01T11:30,30,,,,\n")
		ok(t, "appointment", "import", path)
		if p := w.salon.imported["P-1"]; p.GetPass().GetCreditsUsed() != 2 || p.GetPass().GetCustomerPassId() != "cp_1" || p.GetStartsAt().AsTime().Hour() != 13 {
			t.Errorf("imported %v", p)
		}
		if p := w.salon.imported["P-2"]; p == nil || p.Payment != nil || p.PurchasedAt != nil {
			t.Errorf("imported %v", p)
		}
	})
	const wrong = "reference,customer,type,staff,starts_at,length,rooms,timezone,method,gross\nA-1,C-1,Massage,Ada,2026-07-01 09:30,60,,,,\nR-1,C-1,Facial,Ada,2026-07-01 09:30,60,,,,\n" +
		"R-2,C-1,Massage,Bo,2026-07-01 09:30,60,,,,\nR-3,C-1,Massage,Ada,2026-07-01 09:30,60,Attic,,,\nR-4,C-1,Massage,Ada,tomorrow,60,,,,\nR-5,C-1,Massage,Ada,2026-07-01 09:30,60,,London,,\n" +
		"R-6,C-1,Massage,Ada,2026-07-01 09:30,60,,,SHELLS,100\nR-7,C-1,Massage,Ada,2026-07-01 09:30,60,,,,100\nR-8,,Massage,Ada,2026-07-01 09:30,60,,,,\n"
	refusals := []string{
		`R-1,appointment_type,"appointment_type ""Facial"" does not exist"`, `R-2,staff,"staff ""Bo"" does not exist"`, `R-3,rooms,`, "R-4,starts_at,", "R-5,timezone,timezone must be an IANA time zone; did you mean Europe/London?",
		"R-6,payment.method,", "R-7,method,method is required for a payment", "R-8,customer,customer is required",
	}
	t.Run("lines are refused one by one, with the columns of the file", func(t *testing.T) {
		path := w.write(t, "b.csv", wrong+"R-9,C-1,Massage,Ada,2026-07-01T03:00:00Z,60,,,,\n")
		r := run(t, "", "appointment", "import", path)
		report := filepath.Join(w.dir, "b.refused.csv")
		if sum := summed(t, r); r.code != 3 || sum != (counts{Read: 10, Existed: 1, Refused: 9, Report: report}) {
			t.Fatalf("got %+v", r)
		}
		refusedLines(t, report, append(refusals, "R-9,starts_at,starts_at overlaps another appointment")...)
	})
	t.Run("a dry run also looks up the customers, and stores nothing", func(t *testing.T) {
		path := w.write(t, "d.csv", wrong+"N-1,"+id.New[id.Customer]().String()+",Massage,Ada,2026-07-01 09:30,60,,,,\nN-2,C-9,Massage,Ada,2026-07-01 09:30,60,,,,\nN-3,"+strings.Repeat("x", 201)+",Massage,Ada,2026-07-01 09:30,60,,,,\n")
		before := len(w.salon.batches)
		r := run(t, "", "appointment", "import", path, "--dry-run")
		report := filepath.Join(w.dir, "d.refused.csv")
		if sum := summed(t, r); r.code != 3 || sum.Created != 2 || sum.Refused != 10 || len(w.salon.batches) != before || !strings.Contains(r.errOut, "nothing was stored") {
			t.Fatalf("got %+v", r)
		}
		refusedLines(t, report, append(refusals, "N-2,customer,customer does not exist", "N-3,customer,customer must be at most 200")...)
	})
	t.Run("batches have at most 100 appointments, and a repeated import continues", func(t *testing.T) {
		var file strings.Builder
		file.WriteString("reference,customer,type,staff,starts_at,length\n")
		for i := range 250 {
			fmt.Fprintf(&file, "M-%d,C-1,Massage,Ada,2026-07-01 09:30,30\n", i)
		}
		path := w.write(t, "many.csv", file.String())
		w.salon.batches, w.salon.cutAt = nil, 2
		if r := run(t, "", "appointment", "import", path); r.code != 1 || !strings.Contains(r.errOut, "the import stopped after 100 appointments: 100 created") {
			t.Fatalf("got %+v", r)
		}
		w.salon.batches, w.salon.cutAt = nil, 0
		r := run(t, "", "appointment", "import", path)
		if sum := summed(t, r); r.code != 0 || sum != (counts{Read: 250, Created: 150, Existed: 100}) || !slices.Equal(w.salon.batches, []int{100, 100, 50}) {
			t.Errorf("got %+v in batches of %v", r, w.salon.batches)
		}
	})
}

// TestSampleFiles imports the sample files of the documentation.
func TestSampleFiles(t *testing.T) {
	w := newWorld(t)
	w.salon.rooms = []*bookingv1.Room{{Id: "room_1", Name: "Room 1"}, {Id: "room_2", Name: "Room 2"}, {Id: "room_3", Name: "Ultrasound"}}
	const dir = "../../docs/examples/appointments/"
	for _, step := range []struct {
		group, file string
		lines       int
	}{{"staff", "staff.csv", 3}, {"appointment-type", "appointment-types.csv", 2}, {"appointment", "appointments.csv", 2}} {
		r := run(t, "", step.group, "import", dir+step.file, "--refused", filepath.Join(w.dir, "refused.csv"))
		if sum := summed(t, r); r.code != 0 || sum.Created != step.lines || strings.Contains(r.errOut, "unknown column") {
			t.Errorf("%s: %+v", step.file, r)
		}
	}
}
