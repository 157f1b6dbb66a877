package customerfile

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name    string
		values  map[string]string
		want    *customerv1.ImportedCustomer
		refused string
	}{
		{"all columns", map[string]string{
			"reference": "C-1", "firstname": "Zoë", "lastname": "Ö", "email": "z@x", "mobile": "+44", "archived": "TRUE", "createdat": "2024-05-06 07:08",
		}, &customerv1.ImportedCustomer{
			Reference: "C-1", FirstName: "Zoë", LastName: "Ö", Email: "z@x", Mobile: "+44", Archived: true,
			CreatedAt: timestamppb.New(time.Date(2024, 5, 6, 7, 8, 0, 0, time.UTC)),
		}, ""},
		{"other names of columns", map[string]string{"customerid": "cust_1", "phone": "1"}, &customerv1.ImportedCustomer{Reference: "cust_1", Mobile: "1"}, ""},
		{"the reference before the identifier", map[string]string{"customerid": "cust_1", "reference": "C-1"}, &customerv1.ImportedCustomer{Reference: "C-1"}, ""},
		{"a truth value that is none", map[string]string{"reference": "C-1", "archived": "maybe"},
			&customerv1.ImportedCustomer{Reference: "C-1"}, "archived must be true or false"},
		{"a time that is none", map[string]string{"reference": "C-1", "createdat": "yesterday"},
			&customerv1.ImportedCustomer{Reference: "C-1"}, "created_at must be a date or a date-time, for example 2026-03-29T09:30:00"},
	} {
		t.Run("reads "+tt.name, func(t *testing.T) {
			got, err := Read(csvfile.Row{Values: tt.values}.Get)
			var why *csvfile.Refusal
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if refused := errors.As(err, &why); refused != (tt.refused != "") || refused && err.Error() != tt.refused {
				t.Errorf("got %v", err)
			}
		})
	}
}
