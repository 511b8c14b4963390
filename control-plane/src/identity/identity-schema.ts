import { z } from 'zod';
import { emailAddress, languageTag, newPassword, timezoneName } from '../http/value-schemas.ts';
import { ROLES } from '../tenancy/roles.ts';

const name = z.string().trim().min(1).max(120);
const token = z.string().min(1).max(200);

export const registerRequest = z
  .strictObject({
    email: emailAddress,
    password: newPassword,
    name,
    org_name: z.string().trim().min(1).max(120).optional(),
    setup_code: z
      .string()
      .max(100)
      .optional()
      .meta({ description: 'Required for the first user; printed when the service starts.' }),
  })
  .meta({ id: 'RegisterRequest' });

export const loginRequest = z
  .strictObject({ email: z.string().min(1).max(254), password: z.string().min(1).max(1000) })
  .meta({ id: 'LoginRequest' });

export const refreshRequest = z.strictObject({ refresh_token: token }).meta({ id: 'RefreshRequest' });

export const changePasswordRequest = z
  .strictObject({ current_password: z.string().min(1).max(1000), new_password: newPassword })
  .meta({ id: 'ChangePasswordRequest' });

export const forgotPasswordRequest = z
  .strictObject({ email: emailAddress })
  .meta({ id: 'ForgotPasswordRequest' });

export const resetPasswordRequest = z
  .strictObject({ token, new_password: newPassword })
  .meta({ id: 'ResetPasswordRequest' });

export const acceptInviteRequest = z
  .strictObject({ token, name: name.optional(), password: newPassword.optional() })
  .meta({ id: 'AcceptInviteRequest' });

export const patchProfileRequest = z
  .strictObject({ name: name.optional(), locale: languageTag.optional(), timezone: timezoneName.optional() })
  .meta({ id: 'PatchProfileRequest' });

const tokenShape = {
  access_token: z.string(),
  token_type: z.literal('bearer'),
  expires_in: z.number().int().meta({ description: 'Seconds.' }),
  refresh_token: z.string().meta({ description: 'A refresh token that can be used once.' }),
};

export const tokensResponse = z.object(tokenShape).meta({ id: 'Tokens' });

const user = z.object({ user_id: z.string(), email: z.string(), name: z.string() }).meta({ id: 'User' });

export const registeredResponse = z.object({ ...tokenShape, user }).meta({ id: 'Registered' });

export const membershipResponse = z
  .object({
    org_id: z.string(),
    org_name: z.string(),
    role: z.enum(ROLES),
    project_ids: z.array(z.string()).nullable(),
  })
  .meta({ id: 'Membership' });

export const profileResponse = z
  .object({
    user_id: z.string(),
    email: z.string(),
    name: z.string(),
    locale: z.string(),
    timezone: z.string(),
    memberships: z.array(membershipResponse),
  })
  .meta({ id: 'Profile' });
