import { CarrierSetup } from './carrier-setup.tsx';
import type { Account } from './carrier-setup.tsx';
import type { ExtraProps } from './record-extras.tsx';

/** How an account is connected, at its carrier. */
export default function AccountExtra({ record }: ExtraProps) {
  return <CarrierSetup account={record as unknown as Account} />;
}
