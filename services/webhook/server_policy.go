package webhook

import (
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// Policy returns the scope that each RPC needs.
func Policy() rpc.Policy {
	const read, write = scopes.WebhooksRead, scopes.WebhooksWrite
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: scopes.PrivacyRead,

		webhookv1.WebhookService_CreateEndpoint_FullMethodName:   write,
		webhookv1.WebhookService_GetEndpoint_FullMethodName:      read,
		webhookv1.WebhookService_ListEndpoints_FullMethodName:    read,
		webhookv1.WebhookService_UpdateEndpoint_FullMethodName:   write,
		webhookv1.WebhookService_DeleteEndpoint_FullMethodName:   write,
		webhookv1.WebhookService_GetSecret_FullMethodName:        write,
		webhookv1.WebhookService_RotateSecret_FullMethodName:     write,
		webhookv1.WebhookService_SendTest_FullMethodName:         write,
		webhookv1.WebhookService_ListDeliveries_FullMethodName:   read,
		webhookv1.WebhookService_GetDelivery_FullMethodName:      read,
		webhookv1.WebhookService_ReplayDelivery_FullMethodName:   write,
		webhookv1.WebhookService_ReplayFailed_FullMethodName:     write,
		webhookv1.WebhookService_CountDeliveries_FullMethodName:  read,
		webhookv1.WebhookService_ReplayDeliveries_FullMethodName: write,
		webhookv1.WebhookService_GetStatistics_FullMethodName:    read,
	}
}
