import { randomUUID } from 'node:crypto';
import { planToolSchema } from '@parley/shared/contracts/session-plan';
import type { ToolRunner } from '@parley/shared/tools/tool-runner';
import type { WireTool } from './plan-tools.ts';
import type { ToolRecord, ToolSecrets } from './tool-model.ts';

/** What a trial of a tool came to, as the agent would learn it. */
export interface ToolTestResult {
  ok: boolean;
  status: number | null;
  result: string | null;
  error: { code: string; message: string } | null;
  duration_ms: number;
}

/** Shorter values are no secrets, and may stand in any text. */
const MIN_SECRET = 4;

/**
 * Tries a tool outside of any call, by the code that runs it in calls.
 * @param secrets taken out of what the tool answers
 * @throws the reason of `signal`
 */
export async function testTool(
  runner: ToolRunner,
  tool: ToolRecord,
  planned: WireTool,
  request: { arguments: Record<string, unknown>; variables: Record<string, string> },
  secrets: ToolSecrets,
  signal: AbortSignal,
): Promise<ToolTestResult> {
  const outcome = await runner.run(
    planToolSchema.parse(planned),
    {
      toolCallId: `test_${randomUUID()}`,
      arguments: request.arguments,
      session: {
        session_id: 'test',
        agent_id: null,
        channel: 'web',
        direction: 'web',
        from_number: null,
        to_number: null,
        variables: request.variables,
      },
      orgId: tool.org_id,
    },
    signal,
  );
  const said = withoutSecrets(outcome.content, secrets);
  return {
    ok: outcome.ok,
    status: outcome.status ?? null,
    result: outcome.ok ? said : null,
    error: outcome.ok ? null : { code: outcome.code ?? 'failed', message: said },
    duration_ms: outcome.durationMs,
  };
}

function withoutSecrets(text: string, { headers, auth }: ToolSecrets): string {
  const values = Object.values(headers);
  if (auth.type === 'bearer') values.push(auth.token);
  else if (auth.type === 'header') values.push(auth.value);
  else if (auth.type === 'hmac') values.push(auth.secret);
  else if (auth.type === 'basic') {
    values.push(auth.password, Buffer.from(`${auth.username}:${auth.password}`).toString('base64'));
  }
  return values
    .filter((value) => value.length >= MIN_SECRET)
    .sort((a, b) => b.length - a.length)
    .reduce((left, value) => left.replaceAll(value, '[secret]'), text);
}
