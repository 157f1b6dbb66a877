package customer

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"reservation.dev/platform/pg"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// recordStream collects the records of an export.
type recordStream struct {
	grpc.ServerStream
	ctx     context.Context
	records []*privacyv1.PersonalRecord
}

func (s *recordStream) Context() context.Context { return s.ctx }

func (s *recordStream) Send(m *privacyv1.ExportPersonalDataResponse) error {
	s.records = append(s.records, m.GetRecord())
	return nil
}

// generatedSQL returns the columns of customers that PostgreSQL derives from others.
const generatedSQL = `select column_name::text from information_schema.columns where table_name = 'customers' and is_generated = 'ALWAYS'`

func TestPersonalDataHasNoDerivedColumns(t *testing.T) {
	w := open(t)
	c := w.create("Zoë")
	stream := &recordStream{ctx: w.ctx()}
	if err := NewExporter(w.db).ExportPersonalData(&privacyv1.ExportPersonalDataRequest{CustomerId: c.GetId()}, stream); err != nil || len(stream.records) != 1 {
		t.Fatalf("got %v, %v", stream.records, err)
	}
	exported := map[string]any{}
	if err := json.Unmarshal([]byte(stream.records[0].GetJson()), &exported); err != nil {
		t.Fatal(err)
	}
	want := []string{"archived", "created_at", "id", "updated_at", "version"}
	for _, f := range fields() {
		want = append(want, f.name)
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(exported)); !slices.Equal(got, want) {
		t.Errorf("the export has %v, want %v", got, want)
	}
	derived, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), generatedSQL)
	if err != nil || len(derived) == 0 {
		t.Fatalf("generated columns: %v, %v", derived, err)
	}
	for _, column := range derived {
		if _, ok := exported[column]; ok {
			t.Errorf("the derived column %s is exported", column)
		}
	}
}
