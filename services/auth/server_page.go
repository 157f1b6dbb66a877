package auth

import "reservation.dev/platform/page"

// pageSizes are those of every list of the service.
func pageSizes() page.Sizes { return page.Sizes{Default: 100, Max: 1000} }

// byID is the order of lists that are sorted by identifier, which is in a column.
func byID(column string) page.Order { return page.Order{Code: 'i', ID: column} }

// newestFirst is the order of the audit log.
func newestFirst() page.Order { return page.Order{Code: 'a', Column: "at", Desc: true} }
