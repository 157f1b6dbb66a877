package reservectl

import (
	"github.com/spf13/cobra"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// customerCalls are the commands for customers in addition to imports, exports and erasures.
func customerCalls() []call {
	return []call{
		{
			use: "list", short: "List customers, or search them with --query", method: customerv1.CustomerService_ListCustomers_FullMethodName,
			columns: []string{"id", "first_name", "last_name", "email", "mobile", "archived"}, none: "no customers",
			examples: []string{"--query lovelace", "--updated-since 24h --order updated --limit 0 --output json"},
		},
		{
			use: "get CUSTOMER", short: "Show a customer", method: customerv1.CustomerService_GetCustomer_FullMethodName, args: []string{"id"}, examples: []string{"cust_…"},
		},
		{
			use: "create", short: "Create a customer", method: customerv1.CustomerService_CreateCustomer_FullMethodName,
			required: []string{"first_name", "last_name"}, examples: []string{"--first-name Ada --last-name Lovelace --email ada@example.com"},
		},
		{
			use: "update CUSTOMER", short: "Change a customer; flags that are not given change nothing", method: customerv1.CustomerService_UpdateCustomer_FullMethodName,
			args: []string{"id"}, hidden: []string{"require_email"}, examples: []string{"cust_… --email ada@example.com"},
		},
		{
			use: "archive CUSTOMER", short: "Archive a customer", method: customerv1.CustomerService_ArchiveCustomer_FullMethodName,
			args: []string{"id"}, fixed: map[string]string{"archived": "true"}, examples: []string{"cust_…"},
		},
		{
			use: "unarchive CUSTOMER", short: "Make an archived customer active again", method: customerv1.CustomerService_ArchiveCustomer_FullMethodName,
			args: []string{"id"}, fixed: map[string]string{"archived": "false"}, examples: []string{"cust_…"},
		},
		{
			use: "delete CUSTOMER", short: "Delete a customer; to erase the data of a person, use erase", method: customerv1.CustomerService_DeleteCustomer_FullMethodName,
			args: []string{"id"}, examples: []string{"cust_…"},
		},
	}
}

func (a *app) noteCommand() *cobra.Command {
	return a.callGroup("note", "Manage notes about customers", []call{
		{
			use: "list CUSTOMER", short: "List the notes about a customer", method: customerv1.NoteService_ListNotes_FullMethodName,
			args: []string{"customer_id"}, columns: []string{"id", "kind", "pinned", "author", "created_at", "body"}, none: "no notes", examples: []string{"cust_… --kind health"},
		},
		{
			use: "get NOTE", short: "Show a note", method: customerv1.NoteService_GetNote_FullMethodName, args: []string{"id"}, examples: []string{"note_…"},
		},
		{
			use: "create CUSTOMER", short: "Write a note about a customer", method: customerv1.NoteService_CreateNote_FullMethodName,
			args: []string{"customer_id"}, required: []string{"body"}, examples: []string{`cust_… --body "Prefers the front row" --kind preference`},
		},
		{
			use: "update NOTE", short: "Change a note; flags that are not given change nothing", method: customerv1.NoteService_UpdateNote_FullMethodName,
			args: []string{"id"}, examples: []string{"note_… --pinned"},
		},
		{
			use: "delete NOTE", short: "Delete a note", method: customerv1.NoteService_DeleteNote_FullMethodName, args: []string{"id"}, examples: []string{"note_…"},
		},
	})
}

func (a *app) passCommand() *cobra.Command {
	return a.callGroup("pass", "Manage the pass types on sale", []call{
		{
			use: "list", short: "List pass types", method: passv1.PassService_ListPassTypes_FullMethodName,
			columns: []string{"id", "title", "total_uses", "validity_count", "validity_unit", "price", "currency", "status"}, none: "no pass types",
			examples: []string{"--status active"},
		},
		{
			use: "get PASS", short: "Show a pass type", method: passv1.PassService_GetPassType_FullMethodName, args: []string{"id"}, examples: []string{"pass_…"},
		},
		{
			use: "create", short: "Create a pass type", method: passv1.PassService_CreatePassType_FullMethodName, required: []string{"title"},
			examples: []string{
				`--title "10 classes" --total-uses 10 --validity-count 6 --validity-unit month --price 12000`,
				`--title Staff --unlimited-uses --never-expires --eligible-event-type class,workshop`,
			},
		},
		{
			use: "update PASS", short: "Change a pass type; flags that are not given change nothing", method: passv1.PassService_UpdatePassType_FullMethodName,
			args: []string{"id"}, examples: []string{"pass_… --price 13000", "pass_… --status archived"},
		},
	})
}

func (a *app) customerPassCommand() *cobra.Command {
	return a.callGroup("customer-pass", "Manage the passes that customers hold, and their credits", []call{
		{
			use: "list", short: "List the passes of all customers, or of one", method: passv1.PassService_ListCustomerPasses_FullMethodName,
			columns: []string{"id", "customer_id", "title", "remaining_uses", "total_uses", "start_date", "expiry_date", "status"}, none: "no passes",
			hidden: []string{"customer_must_exist"}, examples: []string{"--customer-id cust_… --status active"},
		},
		{
			use: "get PASS", short: "Show a customer's pass", method: passv1.PassService_GetCustomerPass_FullMethodName, args: []string{"id"}, examples: []string{"cp_…"},
		},
		{
			use: "assign CUSTOMER PASS_TYPE", short: "Give a customer a pass; with --method it is sold, otherwise it is free of charge",
			method: passv1.PassService_AssignCustomerPass_FullMethodName,
			args:   []string{"customer_id", "pass_type_id"}, into: "purchase", hidden: []string{"purchase.currency"},
			examples: []string{"cust_… pass_…", "cust_… pass_… --method CASH --gross 12000"},
		},
		{
			use: "update PASS", short: "Change a customer's pass; flags that are not given change nothing", method: passv1.PassService_UpdateCustomerPass_FullMethodName,
			args: []string{"id"}, examples: []string{"cp_… --status paused", `cp_… --expiry-date 2026-12-31 --reason "Studio closed in May"`},
		},
		{
			use: "adjust PASS", short: "Add or remove credits of a customer's pass", method: passv1.PassService_AdjustCredits_FullMethodName,
			args: []string{"customer_pass_id"}, required: []string{"credits", "reason"}, examples: []string{`cp_… --credits 2 --reason "Class ended early"`},
		},
		{
			use: "ledger PASS", short: "List every change of a pass's credits", method: passv1.PassService_ListLedgerEntries_FullMethodName,
			args: []string{"customer_pass_id"}, columns: []string{"sequence", "created_at", "kind", "credits", "balance", "transaction=redemption_id", "registration=item_id", "reason", "actor"},
			none: "no changes", examples: []string{"cp_… --descending"},
		},
		{
			use: "entries", short: "List the changes of the credits of all passes, oldest first", method: passv1.PassService_ListCompanyLedgerEntries_FullMethodName,
			columns: []string{
				"created_at=entry.created_at", "customer_pass_id", "customer_id", "title=pass_title", "kind=entry.kind", "credits=entry.credits",
				"balance=entry.balance", "reason=entry.reason",
			},
			none: "no changes", examples: []string{"--created-from 2026-03-01 --created-before 2026-04-01"},
		},
	})
}

func (a *app) publishableKeyCommand() *cobra.Command {
	return a.callGroup("publishable-key", "Manage publishable keys, with which web pages read events and pass types", []call{
		{
			use: "create", short: "Create a publishable key; it is not a secret", method: authv1.PublishableKeyService_CreatePublishableKey_FullMethodName,
			required: []string{"name"}, examples: []string{"--name Website --origin https://studio.example,https://www.studio.example"},
		},
		{
			use: "list", short: "List publishable keys", method: authv1.PublishableKeyService_ListPublishableKeys_FullMethodName,
			columns: []string{"id", "name", "origins", "enabled", "created_at"}, none: "no publishable keys",
		},
		{
			use: "get KEY", short: "Show a publishable key", method: authv1.PublishableKeyService_GetPublishableKey_FullMethodName, args: []string{"id"}, examples: []string{"pub_…"},
		},
		{
			use: "update KEY", short: "Change a publishable key; flags that are not given change nothing", method: authv1.PublishableKeyService_UpdatePublishableKey_FullMethodName,
			args: []string{"id"}, examples: []string{"pub_… --origin https://studio.example", "pub_… --enabled=false"},
		},
		{
			use: "delete KEY", short: "Delete a publishable key permanently", method: authv1.PublishableKeyService_DeletePublishableKey_FullMethodName,
			args: []string{"id"}, examples: []string{"pub_…"},
		},
	})
}

func (a *app) requestCommand() *cobra.Command {
	return a.callGroup("request", "Read the request log: what API clients and keys sent in the last 30 days, and why requests were refused", []call{
		{
			use: "list", short: "List requests, newest first", method: authv1.RequestLogService_ListRequests_FullMethodName, hidden: []string{"with_total"},
			columns: []string{"received_at", "credential_id", "method", "path", "status", "error_code", "request_id"}, none: "no requests",
			examples: []string{"--credential-id key_… --min-status 400", "--since 1h --method POST"},
		},
		{
			use: "get REQUEST", short: "Show a request", method: authv1.RequestLogService_GetRequest_FullMethodName, args: []string{"id"}, examples: []string{"req_…"},
		},
	})
}

// webhookMessages is the command by which a receiver catches up on what it missed.
func webhookMessages() call {
	return call{
		use: "messages", short: "List the messages of the last 30 days, sent or not, oldest first", method: webhookv1.WebhookService_ListMessages_FullMethodName,
		columns: []string{"id", "occurred_at", "event", "body"}, none: "no messages", follow: true,
		examples: []string{"--since 24h --event registration.created", "--since 1h --follow --output json"},
	}
}
