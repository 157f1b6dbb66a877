// Command directory tells the router in front of several cells where each company is.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/directory"
)

func main() { service.Main(directory.Part()) }
