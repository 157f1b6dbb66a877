package auth

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func administratorMessage(a Administrator) *authv1.Administrator {
	return &authv1.Administrator{
		Id: a.ID.String(), Name: a.Name, Email: a.Email, Role: a.Role.Message(), StaffId: staffText(a.Staff), Disabled: a.DisabledAt != nil,
		TotpEnabled: a.needsCode(), RecoveryCodesLeft: int32(len(a.RecoveryCodes)), CreatedAt: timestamppb.New(a.CreatedAt),
		UpdatedAt: timestamppb.New(a.UpdatedAt), LastSignedInAt: optional(a.LastSignedInAt),
		PasswordChangedAt: timestamppb.New(a.PasswordChangedAt), Version: a.Version,
	}
}

func sessionMessage(s Session, idle time.Duration) *authv1.Session {
	ends := s.LastUsedAt.Add(idle)
	if s.ExpiresAt.Before(ends) {
		ends = s.ExpiresAt
	}
	return &authv1.Session{
		Id: s.ID.String(), AdministratorId: s.Administrator.String(), Address: s.Address, UserAgent: s.UserAgent,
		CreatedAt: timestamppb.New(s.CreatedAt), LastUsedAt: timestamppb.New(s.LastUsedAt),
		IdleExpiresAt: timestamppb.New(ends), ExpiresAt: timestamppb.New(s.ExpiresAt),
	}
}

func identityMessage(in signedIn, claims token.Claims, raw string, idle time.Duration) *authv1.Identity {
	session := sessionMessage(in.session, idle)
	session.Current = true
	var notices []*authv1.Notice
	for _, n := range in.administrator.Notices {
		notices = append(notices, &authv1.Notice{At: timestamppb.New(n.At), Action: n.Action, ByName: n.By})
	}
	return &authv1.Identity{
		Administrator: administratorMessage(in.administrator), Company: companyMessage(in.company), Session: session,
		AccessToken: raw, AccessTokenExpiresAt: timestamppb.New(claims.ExpiresAt.Truncate(time.Second)), Scopes: claims.Scopes,
		Notices: notices,
	}
}

func invitationMessage(i Invitation, invitedByName string) *authv1.Invitation {
	return &authv1.Invitation{
		Id: i.ID.String(), Email: i.Email, Role: i.Role.Message(), StaffId: staffText(i.Staff), InvitedBy: i.InvitedBy, InvitedByName: invitedByName,
		CreatedAt: timestamppb.New(i.CreatedAt), ExpiresAt: timestamppb.New(i.ExpiresAt),
	}
}
