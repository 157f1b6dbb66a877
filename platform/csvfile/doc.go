// Package csvfile reads and writes the CSV files that people exchange with the platform, through spreadsheets and
// other systems.
//
// A Reader accepts what spreadsheets save: columns in any order and spelling, commas, semicolons or tabs, a byte
// order mark, quoted values. It refuses single rows, so that the others can be used. A Writer quotes values as RFC
// 4180 says, and writes no value that a spreadsheet would evaluate as a formula. A Reader returns the values that
// were given to the Writer.
package csvfile
