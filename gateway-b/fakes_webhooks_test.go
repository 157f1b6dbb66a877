package gatewayb

import (
	"context"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

type fakeDiscounts struct {
	bookingv1.UnimplementedDiscountServiceServer
	*fakes
}

func (f fakeDiscounts) ListDiscountCodes(ctx context.Context, req *bookingv1.ListDiscountCodesRequest) (*bookingv1.ListDiscountCodesResponse, error) {
	return reply[*bookingv1.ListDiscountCodesResponse](ctx, f.fakes, req)
}
func (f fakeDiscounts) GetDiscountCode(ctx context.Context, req *bookingv1.GetDiscountCodeRequest) (*bookingv1.GetDiscountCodeResponse, error) {
	return reply[*bookingv1.GetDiscountCodeResponse](ctx, f.fakes, req)
}
func (f fakeDiscounts) CreateDiscountCode(ctx context.Context, req *bookingv1.CreateDiscountCodeRequest) (*bookingv1.CreateDiscountCodeResponse, error) {
	return reply[*bookingv1.CreateDiscountCodeResponse](ctx, f.fakes, req)
}
func (f fakeDiscounts) UpdateDiscountCode(ctx context.Context, req *bookingv1.UpdateDiscountCodeRequest) (*bookingv1.UpdateDiscountCodeResponse, error) {
	return reply[*bookingv1.UpdateDiscountCodeResponse](ctx, f.fakes, req)
}

type fakeWebhooks struct {
	webhookv1.UnimplementedWebhookServiceServer
	*fakes
}

func (f fakeWebhooks) CreateEndpoint(ctx context.Context, req *webhookv1.CreateEndpointRequest) (*webhookv1.CreateEndpointResponse, error) {
	return reply[*webhookv1.CreateEndpointResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) GetEndpoint(ctx context.Context, req *webhookv1.GetEndpointRequest) (*webhookv1.GetEndpointResponse, error) {
	return reply[*webhookv1.GetEndpointResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) ListEndpoints(ctx context.Context, req *webhookv1.ListEndpointsRequest) (*webhookv1.ListEndpointsResponse, error) {
	return reply[*webhookv1.ListEndpointsResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) UpdateEndpoint(ctx context.Context, req *webhookv1.UpdateEndpointRequest) (*webhookv1.UpdateEndpointResponse, error) {
	return reply[*webhookv1.UpdateEndpointResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) DeleteEndpoint(ctx context.Context, req *webhookv1.DeleteEndpointRequest) (*webhookv1.DeleteEndpointResponse, error) {
	return reply[*webhookv1.DeleteEndpointResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) GetSecret(ctx context.Context, req *webhookv1.GetSecretRequest) (*webhookv1.GetSecretResponse, error) {
	return reply[*webhookv1.GetSecretResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) RotateSecret(ctx context.Context, req *webhookv1.RotateSecretRequest) (*webhookv1.RotateSecretResponse, error) {
	return reply[*webhookv1.RotateSecretResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) SendTest(ctx context.Context, req *webhookv1.SendTestRequest) (*webhookv1.SendTestResponse, error) {
	return reply[*webhookv1.SendTestResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) ListDeliveries(ctx context.Context, req *webhookv1.ListDeliveriesRequest) (*webhookv1.ListDeliveriesResponse, error) {
	return reply[*webhookv1.ListDeliveriesResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) GetDelivery(ctx context.Context, req *webhookv1.GetDeliveryRequest) (*webhookv1.GetDeliveryResponse, error) {
	return reply[*webhookv1.GetDeliveryResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) ReplayDelivery(ctx context.Context, req *webhookv1.ReplayDeliveryRequest) (*webhookv1.ReplayDeliveryResponse, error) {
	return reply[*webhookv1.ReplayDeliveryResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) ReplayDeliveries(ctx context.Context, req *webhookv1.ReplayDeliveriesRequest) (*webhookv1.ReplayDeliveriesResponse, error) {
	return reply[*webhookv1.ReplayDeliveriesResponse](ctx, f.fakes, req)
}
func (f fakeWebhooks) ListMessages(ctx context.Context, req *webhookv1.ListMessagesRequest) (*webhookv1.ListMessagesResponse, error) {
	return reply[*webhookv1.ListMessagesResponse](ctx, f.fakes, req)
}
