import { CircleCheck, CirclePause } from 'lucide-react';
import type { Webhook } from '../../api/webhooks.ts';

/** Whether it is called, and if not, why. */
export function WebhookState({ webhook: { enabled, disabled_reason } }: { webhook: Webhook }) {
  const Icon = enabled ? CircleCheck : CirclePause;
  return (
    <span className={enabled ? 'text-good' : 'text-warn'}>
      <span className="inline-flex items-center gap-1 whitespace-nowrap">
        <Icon aria-hidden className="size-4" />
        {enabled ? 'enabled' : 'disabled'}
      </span>
      {disabled_reason !== null && <span className="block text-xs">{disabled_reason}</span>}
    </span>
  );
}
