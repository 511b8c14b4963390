import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { CallAnswers } from './call-answers.ts';
import { CallHours } from './call-hours.ts';
import { CalledLines } from './called-lines.ts';
import { CallProgress } from './call-progress.ts';
import { CallTransfers } from './call-transfers.ts';
import { CallTreatments } from './call-treatments.ts';
import { CallbackSignatures } from './callback-signatures.ts';
import { carrierCallbackRoutes } from './carrier-callback-routes.ts';
import { CarrierCallbackService } from './carrier-callback-service.ts';
import { carrierSample } from './carrier-sample.ts';
import { DialledCalls } from './dialled-calls.ts';
import { IncomingCalls } from './incoming-calls.ts';

type AnswerDeps = ConstructorParameters<typeof CallAnswers>[0];
type LineDeps = ConstructorParameters<typeof CalledLines>[0];
type IncomingDeps = ConstructorParameters<typeof IncomingCalls>[0];
type ProgressDeps = ConstructorParameters<typeof CallProgress>[0];
type TransferDeps = ConstructorParameters<typeof CallTransfers>[0];
type TreatmentDeps = ConstructorParameters<typeof CallTreatments>[0];
type DialledDeps = ConstructorParameters<typeof DialledCalls>[0];
type SignatureDeps = ConstructorParameters<typeof CallbackSignatures>[0];

/** What carriers tell of calls. */
export function createCarriers({
  bus,
  config,
  ...deps
}: Omit<AnswerDeps, 'leases' | 'publicUrl'> &
  LineDeps &
  Omit<IncomingDeps, 'answers' | 'hours' | 'lines' | 'treatments'> &
  Omit<TreatmentDeps, 'publicUrl'> &
  ProgressDeps &
  Omit<DialledDeps, 'answers'> &
  Omit<TransferDeps, 'answers'> &
  Omit<SignatureDeps, 'publicUrl'> &
  Pick<Platform, 'bus' | 'config'>) {
  const publicUrl = config.PUBLIC_URL;
  const answers = new CallAnswers({ ...deps, leases: bus.leases, publicUrl });
  const signatures = new CallbackSignatures({ ...deps, publicUrl });
  const carrierCallbacks = new CarrierCallbackService({
    ...{ ...deps, signatures },
    dialled: new DialledCalls({ ...deps, answers }),
    incoming: new IncomingCalls({
      ...{ ...deps, answers },
      lines: new CalledLines(deps),
      hours: new CallHours(deps),
      treatments: new CallTreatments({ ...deps, publicUrl }),
    }),
    transfers: new CallTransfers({ ...deps, answers }),
    progress: new CallProgress(deps),
  });
  return {
    ...{ carrierCallbacks, callbackSignatures: signatures },
    routes: carrierCallbackRoutes({ carrierCallbacks }),
    samples: [carrierSample],
  } satisfies Feature & { carrierCallbacks: CarrierCallbackService; callbackSignatures: CallbackSignatures };
}
