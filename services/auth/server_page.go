package auth

import "reservation.dev/platform/page"

// byID orders a list by the identifier in a column.
func byID(column string) page.Order { return page.Order{Code: 'i', ID: column} }

// newestFirst is the order of the audit log.
func newestFirst() page.Order { return page.Order{Code: 'a', Column: "at", Desc: true} }

// listPage returns the page that a request asks for, and the token of the next page.
func listPage[T any](req page.Request, order page.Order, rows func(page.Page) ([]T, error), cursor func(*T) page.Cursor) (list []T, next string, err error) {
	p, err := page.Read(req, order, page.Sizes{Default: 100, Max: 1000})
	if err != nil {
		return nil, "", err
	}
	if list, err = rows(p); err != nil {
		return nil, "", err
	}
	list, next = page.Cut(p, list, cursor)
	return list, next, nil
}
