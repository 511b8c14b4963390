import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import type { CallbackSignatures } from '../carriers/callback-signatures.ts';
import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { namedRecords } from '../composition/search-source.ts';
import { idSchema } from '../http/operation.ts';
import type { Collection } from '../storage/collection.ts';
import type { ComplaintAccount, ComplaintAccounts } from './complaint-accounts.ts';
import { ComplaintFeed } from './complaint-feed.ts';
import { ComplaintIntake, type DoNotCallList } from './complaint-intake.ts';
import { ComplaintPulls } from './complaint-pulls.ts';
import { ProofDocuments } from './proof-documents.ts';
import { uccComplaintCollection } from './ucc-complaint-model.ts';
import { uccComplaintRoutes } from './ucc-complaint-routes.ts';
import { uccComplaintSample } from './ucc-complaint-sample.ts';
import { MAX_PROOF_BYTES } from './ucc-complaint-schema.ts';
import { UccComplaintService } from './ucc-complaint-service.ts';

/** A deadline is days away. */
const EXPIRY_INTERVAL_MS = 60_000;
const MINUTE_MS = 60_000;

export function createUccComplaints({
  config,
  accountCollection,
  ...deps
}: Pick<
  Platform,
  'box' | 'bus' | 'clock' | 'config' | 'database' | 'directory' | 'logger' | 'processName'
> & {
  accounts: ComplaintAccounts;
  accountCollection: Collection<ComplaintAccount>;
  doNotCall: DoNotCallList;
  signatures: CallbackSignatures;
}) {
  const fetch = createSafeFetch({ allow: config.OUTBOUND_ALLOW, maxResponseBytes: MAX_PROOF_BYTES });
  const intake = new ComplaintIntake(deps);
  const feed = new ComplaintFeed({ ...deps, intake });
  const documents = new ProofDocuments({ fetch });
  const complaints = new UccComplaintService({ ...deps, feed, intake, documents });
  const everyMs = config.COMPLAINT_PULL_MINUTES * MINUTE_MS;
  const pulls = new ComplaintPulls({
    ...{ ...deps, feed, everyMs },
    leases: deps.bus.leases,
    owner: deps.processName,
  });
  return {
    owns: [fetch],
    collections: [uccComplaintCollection],
    searches: [
      namedRecords('ucc_complaint', uccComplaintCollection, {
        list: 'listUccComplaints',
        fields: ['reference_id'],
        number: 'to_number',
        name: ({ to_number, reference_id }) =>
          to_number === null ? reference_id : `${to_number} (${reference_id})`,
      }),
    ],
    routes: uccComplaintRoutes({ complaints, accountCollection }),
    parameters: { ucc_id: idSchema('ucc').meta({ description: 'Complaint.' }) },
    flags: [{ key: 'ucc', description: 'Complaints about unsolicited calls' }],
    workers: [
      { name: 'deadlines of complaints', everyMs: EXPIRY_INTERVAL_MS, work: () => intake.expire() },
      ...(everyMs === 0
        ? []
        : [
            {
              ...{ name: 'complaints', everyMs },
              work: (signal: AbortSignal) => pulls.run(signal),
              release: () => pulls.release(),
            },
          ]),
    ],
    samples: [uccComplaintSample],
  } satisfies Feature;
}
