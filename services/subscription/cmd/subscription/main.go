// Command subscription serves the subscription service.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/subscription"
)

func main() { service.Main(subscription.Part()) }
