// Command webhook serves the webhook service.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/webhook"
)

func main() { service.Main(webhook.Part()) }
