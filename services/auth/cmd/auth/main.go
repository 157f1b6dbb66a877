// Command auth serves the auth service.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/auth"
)

func main() { service.Main(auth.Part()) }
