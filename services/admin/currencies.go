package admin

import "reservation.dev/platform/money"

// currencySymbols are the symbols of the currencies, as the Unicode CLDR has them for English.
var currencySymbols = map[string]string{
	money.GBP: "£", money.EUR: "€", money.USD: "$", "AUD": "A$", "CAD": "CA$", "CHF": "CHF", "CZK": "CZK", "DKK": "DKK", "HKD": "HK$",
	"NOK": "NOK", "NZD": "NZ$", "PLN": "PLN", "SEK": "SEK", "SGD": "SGD", "ZAR": "R",
}
