package rpc_test

import (
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

func TestTenant(t *testing.T) {
	company := id.New[id.Company]()
	if _, err := rpc.Tenant(t.Context()); !fault.Is(err, fault.Invalid) {
		t.Errorf("no company gives %v", err)
	}
	if got, err := rpc.Tenant(rpc.WithCompany(t.Context(), company)); got != company || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCompanyClaims(t *testing.T) {
	company := id.New[id.Company]()
	whole := token.Claims{Company: company, Zone: "UTC", Currency: "EUR", CompanyVersion: 3}
	without := func(change func(*token.Claims)) *token.Claims {
		c := whole
		change(&c)
		return &c
	}
	if got := rpc.CompanyClaims(rpc.WithClaims(t.Context(), &whole)); got == nil || got.CompanyVersion != 3 {
		t.Errorf("got %v", got)
	}
	if got := rpc.CompanyClaims(t.Context()); got != nil {
		t.Errorf("no caller: got %v", got)
	}
	for name, claims := range map[string]*token.Claims{
		"no zone":     without(func(c *token.Claims) { c.Zone = "" }),
		"no currency": without(func(c *token.Claims) { c.Currency = "" }),
	} {
		if got := rpc.CompanyClaims(rpc.WithClaims(t.Context(), claims)); got != nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if got := rpc.CompanyClaims(rpc.WithCompany(rpc.WithClaims(t.Context(), &whole), id.New[id.Company]())); got != nil {
		t.Errorf("another company: got %v", got)
	}
}
