// Command booking serves events, transactions and bookings over gRPC.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/booking"
)

func main() { service.Main(booking.Part()) }
