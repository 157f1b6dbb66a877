// Command customer serves the customer service.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/customer"
)

func main() { service.Main(customer.Part()) }
