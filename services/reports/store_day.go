package reports

import "github.com/jackc/pgx/v5/pgtype"

// DateValue implements pgtype.DateValuer.
func (d Day) DateValue() (pgtype.Date, error) {
	if d == noDay {
		return pgtype.Date{}, nil
	}
	return pgtype.Date{Time: d.time(), Valid: true}, nil
}

// ScanDate implements pgtype.DateScanner.
func (d *Day) ScanDate(v pgtype.Date) error {
	*d = noDay
	if v.Valid {
		*d = dayOf(v.Time)
	}
	return nil
}
