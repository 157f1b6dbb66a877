package admin

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/customerfile"
)

// importCells reads the cells of a row, and keeps the first refusal. Each cell is named by its column in an exported
// file: "total_uses".
type importCells struct {
	row    csvfile.Row
	zone   *time.Location // of times without an offset
	failed *csvfile.Refusal
}

func (c *importCells) err() error {
	if c.failed == nil {
		return nil
	}
	return c.failed
}

func (c *importCells) refuse(column, message string) {
	if c.failed == nil {
		c.failed = &csvfile.Refusal{Field: column, Rule: "format", Message: message}
	}
}

// text returns the first of the named columns that is not empty, or "".
func (c *importCells) text(columns ...string) string {
	for _, column := range columns {
		if value := c.row.Get(csvfile.Column(column)); value != "" {
			return value
		}
	}
	return ""
}

// number returns the whole number in a column; nil if it is empty.
func (c *importCells) number(column string) *int32 {
	text := c.text(column)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		c.refuse(column, fmt.Sprintf("must be a whole number from 0 to %d", math.MaxInt32))
		return nil
	}
	return new(int32(n))
}

// flag returns the truth value in a column; false if it is empty.
func (c *importCells) flag(column string) bool {
	text := c.text(column)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		c.refuse(column, "must be true or false")
	}
	return value
}

// amount returns the minor units of the amount in a column; 0 if it is empty.
func (c *importCells) amount(column string) int64 {
	text := c.text(column)
	if text == "" {
		return 0
	}
	minor, err := csvfile.ParseAmount(text)
	if err != nil {
		c.refuse(column, err.Error())
	}
	return minor
}

// moment returns the time in the first of the named columns that is not empty; nil if all are.
func (c *importCells) moment(columns ...string) *timestamppb.Timestamp {
	text := c.text(columns...)
	if text == "" {
		return nil
	}
	at, err := customerfile.Moment(text, c.zone)
	if err != nil {
		c.refuse(columns[0], err.Error())
		return nil
	}
	return timestamppb.New(at)
}
