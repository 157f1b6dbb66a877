-- +goose Up

-- The roles front desk and teacher. role stays owner or staff, because the previous release knows only these,
-- and gives everybody who is not an owner the rights of a manager. Existing staff are managers: their
-- narrow_role is null.
--
-- Somebody with a narrow role must not get more rights from a process of the previous release. Therefore
-- disabled_at is always set for them, so the previous release refuses their sign-in and ends their sessions.
-- narrow_disabled_at says whether they really are disabled. If the previous release makes them an owner, role
-- is owner, and the other columns count no more.
alter table administrators
    add column narrow_role        text constraint administrators_narrow_role check (narrow_role in ('front_desk', 'teacher')),
    -- The staff member of the booking service whose dates a teacher sees.
    add column staff_id           uuid,
    add column narrow_disabled_at timestamptz;
alter table administrators add constraint administrators_teacher
    check ((narrow_role is not distinct from 'teacher') = (staff_id is not null)) not valid;
alter table administrators validate constraint administrators_teacher;

-- The token of an invitation to a narrow role has another hash, so the previous release does not find it.
alter table invitations
    add column narrow_role text constraint invitations_narrow_role check (narrow_role in ('front_desk', 'teacher')),
    add column staff_id    uuid;
alter table invitations add constraint invitations_teacher
    check ((narrow_role is not distinct from 'teacher') = (staff_id is not null)) not valid;
alter table invitations validate constraint invitations_teacher;
