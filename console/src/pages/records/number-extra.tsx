import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { QueryContent } from '../../components/query-content.tsx';
import { CarrierSetup } from './carrier-setup.tsx';
import type { ExtraProps } from './record-extras.tsx';

/** Who answers a number, and how it is connected at its carrier. */
export default function NumberExtra({ record }: ExtraProps) {
  const { projectId } = useProject();
  const accountId = String(record['telephony_account_id']);
  const deploymentId = record['inbound_deployment_id'];
  const account = useQuery({
    queryKey: ['telephony-account', accountId],
    queryFn: () =>
      take(
        api.GET('/v1/telephony-accounts/{telephony_account_id}', {
          params: { path: { telephony_account_id: accountId } },
        }),
      ),
  });
  const inbound = `/projects/${projectId}/inbound-deployments`;
  return (
    <>
      <Text size="sm">
        {typeof deploymentId === 'string' ? (
          <Anchor
            component={Link}
            to={inbound}
            search={{ record: deploymentId } as never}
            size="sm"
            underline="always"
          >
            Who answers it, and when
          </Anchor>
        ) : (
          <>
            No agent answers it yet:{' '}
            <Anchor component={Link} to={inbound} size="sm" underline="always">
              say which one does
            </Anchor>
            .
          </>
        )}
      </Text>
      <QueryContent query={account}>{(found) => <CarrierSetup account={found} />}</QueryContent>
    </>
  );
}
